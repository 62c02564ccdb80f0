// SPDX-License-Identifier: Apache-2.0
//
// The instruction sets that the machine code of a file uses. Libraries of TVM's `llvm` name no CPU, so that nothing else tells for
// which one they are compiled.
#pragma once

#include "core/engine/runtime/cpu_requirement.hpp"
#include "core/formats/elf/elf_file.hpp"

#include <gantry/result.hpp>

#include <optional>

namespace gantry::cli {

// Decodes the code of a file, and returns the instruction sets that a CPU lacks; nullopt if there are none, if the file is not for
// x86-64, and if it asks the CPU which instructions it has (`cpuid`, functions of its compiler for it, or indirect functions):
// then it has code for several CPUs. The text is the first such instruction: "vfmadd213ps at address 0x2190".
//
// has      [in]   of the CPU
// returns  unavailable  this host has no libZydis
// costs    O(bytes of code), of which those after 64 MiB are not decoded; about 10 ns for each
Result<std::optional<CpuRequirement>> unmet_by_instructions(
    const ElfFile& elf, const HasFeature& has = host_has_feature);

}  // namespace gantry::cli
