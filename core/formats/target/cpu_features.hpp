// SPDX-License-Identifier: Apache-2.0
//
// Instruction sets of x86-64, by their names in LLVM and GCC: those of a CPU for which code is compiled, and those of this host.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace gantry {

// True if a CPU has an instruction set: "avx2".
using HasFeature = std::function<bool(std::string_view feature)>;

// Returns the instruction sets that compilers use for a CPU beyond those of every x86-64: "haswell" is avx, avx2, fma and so on.
// Those that this host cannot be asked for are left out.
//
// cpu      [in]   in any case, as for -mcpu of LLVM and -march of GCC
// returns  empty also for a name that is unknown, and for "native"
std::span<const std::string_view> features_of_cpu(std::string_view cpu);

// True if this host's CPU has an instruction set, or if it is unknown whether it has.
bool host_has_feature(std::string_view feature);

// Returns a literal of the name of an instruction set that a host can be asked for; empty for others.
std::string_view known_feature(std::string_view feature);

}  // namespace gantry
