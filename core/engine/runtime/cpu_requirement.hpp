// SPDX-License-Identifier: Apache-2.0
//
// What a library tells about the CPU that it is for: what compilers leave in it, and its instructions. TVM's `llvm` leaves nothing.
//
//     .rodata            a target: `llvm -mcpu=haswell -mattr=+avx2`, {"kind": "llvm", "mcpu": "haswell"}
//     .GCC.command.line  options of GCC (-frecord-gcc-switches) and Clang (-frecord-command-line)
//     .debug_str         options of GCC (-g)
//     executable ones    instructions, unless one of them asks for the CPU's instruction sets: then there are versions for several
//                        CPUs
#pragma once

#include "core/formats/elf/elf_file.hpp"
#include "core/formats/target/cpu_features.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Whether instructions are decoded.
enum class CodeCheck {
  always,
  // Not for a CPU with AVX-512 and all sets before: it lacks sets of CPUs that are no longer made, and of later ones.
  on_usual_cpu,
};

struct CpuRequirement {
  // as the compiler left it: "-mcpu=haswell"; or "instruction at 0x2835"
  std::string text;
  // instruction sets that the CPU lacks
  std::vector<std::string_view> missing;
};

// Each returns the requirement of one text that a CPU does not meet: of a target in either form, and of options of GCC or Clang.
std::optional<CpuRequirement> unmet_in_target(std::string_view text, const HasFeature& has);
std::optional<CpuRequirement> unmet_in_options(std::string_view text, const HasFeature& has);

// Returns the first text whose instruction sets a CPU lacks, else those of the instructions; nullopt if there is none.
//
// has      [in]   of the CPU
// costs    O(bytes of these sections). Sections of texts of more than 1 MiB, 64 MiB in all, are not read, nor is code of more than
//          64 MiB in all; instructions take about 10 ns for each byte
std::optional<CpuRequirement> unmet_cpu_requirement(const ElfFile& elf,
                                                    const HasFeature& has = host_has_feature,
                                                    CodeCheck check = CodeCheck::always);

// "it is compiled for avx2 and fma (-mcpu=haswell), which this CPU lacks: ..."
std::string to_text(const CpuRequirement& unmet);

}  // namespace gantry
