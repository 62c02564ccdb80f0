// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/archive_module.hpp"

#include <gantry/quoted.hpp>

namespace gantry::cli {

bool has_virtual_machine(const Module& module) {
  return module.function("vm_load_executable").ok();
}

Result<Module> selected_model(const Module& module, std::string& function) {
  const ModuleNode& node = node_of(module.get());
  if (archived_models(node).empty()) return module;
  auto root = archived_model(node, function);
  if (!root.ok()) return std::move(root).error().at("--function NAME selects one");
  function.clear();
  return Module(ObjectRef::share(root->base()));
}

Result<Session> model_session(const Runtime& runtime, const Module& module,
                              const FunctionOptions& options) {
  const bool is_vm = has_virtual_machine(module);
  if (is_vm && options.capture) {
    return invalid("--capture records graphs; functions of a virtual machine cannot be recorded");
  }
  if (!is_vm && !options.function.empty()) {
    return invalid("the file has no virtual machine, so that its function ",
                   quoted(options.function),
                   " has no inputs by name; `gantry run` passes arguments by position with --arg");
  }
  const auto model = runtime.model(module, options.devices, {.capture = options.capture});
  if (!model.ok()) {
    Error error = model.error();
    if (!is_vm && error.code == Code::not_found)
      error.at("gantry run --function NAME calls one function of a library");
    return error;
  }
  auto function = model->function(options.function);
  if (function.ok()) return Session::create(std::move(*function));
  Error error = std::move(function).error();
  if (options.capture && error.code == Code::unsupported) {
    error.at("required by --capture; without it the model runs on this device");
  } else if (is_vm && options.function.empty()) {
    error.at("--function NAME selects one");
  }
  return error;
}

}  // namespace gantry::cli
