// SPDX-License-Identifier: Apache-2.0
//
// What compilers leave in a library about the CPU that it is for. It does not prove that a function uses an instruction set, and
// most compilers leave nothing: libraries of TVM's `llvm` have none of it. tools/gantry/cpu_instructions.hpp decodes the code.
//
//     .rodata            a target: `llvm -mcpu=haswell -mattr=+avx2`, {"kind": "llvm", "mcpu": "haswell"}
//     .GCC.command.line  options of GCC (-frecord-gcc-switches) and Clang (-frecord-command-line)
//     .debug_str         options of GCC (-g)
#pragma once

#include "core/formats/elf/elf_file.hpp"
#include "core/formats/target/cpu_features.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct CpuRequirement {
  // as the compiler left it: "-mcpu=haswell"
  std::string text;
  // instruction sets that the CPU lacks
  std::vector<std::string_view> missing;
};

// Each returns the requirement of one text that a CPU does not meet: of a target in either form, and of options of GCC or Clang.
std::optional<CpuRequirement> unmet_in_target(std::string_view text, const HasFeature& has);
std::optional<CpuRequirement> unmet_in_options(std::string_view text, const HasFeature& has);

// Returns the first text whose instruction sets a CPU lacks; nullopt if there is none.
//
// has      [in]   of the CPU
// costs    O(bytes of these sections), of which those larger than 1 MiB, and those after 64 MiB, are not read
std::optional<CpuRequirement> unmet_cpu_requirement(const ElfFile& elf,
                                                    const HasFeature& has = host_has_feature);

// "it is compiled for avx2 and fma (-mcpu=haswell), which this CPU lacks: ..."
std::string to_text(const CpuRequirement& unmet);

}  // namespace gantry
