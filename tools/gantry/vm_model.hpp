// SPDX-License-Identifier: Apache-2.0
//
// Functions of virtual machines, with parameters by name.
#pragma once

#include "tools/gantry/model.hpp"

namespace gantry::cli {

// True if the module contains an executable of a virtual machine.
bool has_virtual_machine(const Module& module);

struct VmFunction {
  std::string name;
  // Their types are those of the annotations that the compiler left.
  std::vector<InputInfo> inputs;

  // "prefill(x, kv, packed_params)"
  std::string text() const;
};

// A machine and the functions of its executable.
struct VirtualMachine {
  Module module;
  // sorted
  std::vector<VmFunction> functions;

  // devices  [in]   at least one
  static Result<VirtualMachine> create(Runtime& runtime, const Module& module,
                                       std::span<const std::string> devices);
  // Returns the function of a name, or NULL.
  const VmFunction* find(std::string_view name) const;
  // Returns the function of a name; for an empty name, the only function or "main".
  //
  // returns  not_found, listing the functions with their parameters
  Result<const VmFunction*> select(std::string_view name) const;
};

// Creates a machine for one of its functions. Inputs are copied to its first device.
Result<std::unique_ptr<Model>> make_vm_model(Runtime& runtime, const Module& module,
                                             const ModelOptions& options);

}  // namespace gantry::cli
