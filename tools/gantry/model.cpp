// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model.hpp"

#include "core/base/running_code.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/archive_module.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/quoted.hpp>

namespace gantry::cli {

bool is_model_function(const Module& module, std::string_view name) {
  ModuleNode& node = node_of(module.get());
  const auto model = ModelState::find({.runtime = state_of(*node.artifact),
                                       .module = Ref<ModuleNode>::share(&node),
                                       .devices = {}});
  return model.ok() && (*model)->function(name).ok();
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
  const auto with_advice = [&](Error error) {
    if (options.capture && error.code == Code::unsupported)
      error.at("required by --capture; without it the model runs on this device");
    return error;
  };
  const CallRecord record("the creation of the model");
  // Functions that no run calls need not be usable: their errors are those of their calls.
  auto model =
      runtime.model(module, options.devices, {.capture = options.capture, .prepare = true});
  if (!model.ok()) model = runtime.model(module, options.devices, {.capture = options.capture});
  if (!model.ok()) {
    Error error = with_advice(model.error());
    if (error.code == Code::not_found && !options.function.empty() &&
        module.function(options.function).ok()) {
      return not_found(
                 "the file has no model, so that its function ", quoted(options.function),
                 " has no inputs by name; `gantry run` passes arguments by position with --arg")
          .with_reason("FUNCTION");
    }
    if (error.code == Code::not_found)
      error.at("gantry run --function NAME calls one function of a library");
    return error;
  }
  auto function = model->function(options.function);
  if (function.ok()) return Session::create(std::move(*function));
  Error error = with_advice(std::move(function).error());
  if (options.function.empty()) {
    error.at("--function NAME selects one");
  } else if (module.function(options.function).ok()) {
    error.at(quoted(options.function), " of the library has no inputs by name; `gantry run` ",
             "passes arguments by position with --arg");
  }
  return error;
}

}  // namespace gantry::cli
