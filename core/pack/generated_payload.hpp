// SPDX-License-Identifier: Apache-2.0
//
// Payloads of kernels that a compiler builds from their sources: the code generator of a plugin, or
// for CUDA C++ a program.
#pragma once

#include "core/pack/kernel_compilers.hpp"
#include "core/pack/kernel_file.hpp"
#include "core/pack/payload_form.hpp"
#include "core/pack/pieces.hpp"

#include <gantry/kernel_table.hpp>

#include <optional>
#include <string>

namespace gantry {

// The kind of a module's target, and the target as JSON.
struct KernelTarget {
  const KnownTargetKind* kind;
  std::string json;
  // its option `arch`, which kinds of GPUs have; empty: none
  std::string arch;
};

// Reads the target of a module; without one, the kind that declares its type key, with defaults.
//
// returns  nullopt: the module states no target, and no kind declares the type key
//          the errors of parse_target(), with the location; invalid: the target's kind builds
//          payloads of another type key
Result<std::optional<KernelTarget>> target_of(const DeviceModuleSource& module,
                                              const TargetKinds& kinds);

// Calls the generator of the plugin that declares the kind. Its kernel records have no names: they
// are added for a type key of FORMAT.md.
//
// kernels  [in]   those of the module in `form`, the form of the payload
// returns  the payload; unsupported: the kind has no generator, or not for a file's language; the
//          error of the plugin, with the whole log of its compiler
Result<Pieces> generated_payload(const DeviceModuleSource& module, const KernelTable& kernels,
                                 const KernelFiles& files, const KernelTarget& target,
                                 const KernelCompilers& compilers, const PayloadForm& form);

// Compiles CUDA C++ to PTX with nvcc, for sm_75 if the target has no architecture.
//
// returns  the PTX; the errors of run_compiler(); not_found: it does not have a kernel; invalid: the
//          architecture is none, or the path of a source cannot be included
Result<std::string> nvcc_ptx(const DeviceModuleSource& module, const KernelFiles& files,
                             const std::string& arch, const KernelCompilers& compilers);

}  // namespace gantry
