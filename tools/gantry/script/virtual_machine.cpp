// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/script/virtual_machine.hpp"

#include <gantry/value.hpp>

#include <vector>

namespace gantry::cli {

Result<Module> create_machine(Runtime& runtime, const Module& module,
                              std::span<const std::string> devices) {
  GANTRY_TRY(const Function load, module.function("vm_load_executable"));
  std::vector<gantry_value> values;
  for (const std::string& name : devices) {
    GANTRY_TRY(const gantry_device_id id, runtime.device(name));
    values.push_back(device_value(id));
  }
  auto made = load.call(values);
  if (!made.ok()) return std::move(made).failure().at("while making a virtual machine");
  return made->module();
}

}  // namespace gantry::cli
