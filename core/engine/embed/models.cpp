// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/models.hpp"

#include "core/engine/embed/arguments.hpp"
#include "core/engine/runtime/archive_module.hpp"
#include "core/engine/runtime/default_devices.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/value.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

// Returns the devices that the program names; none if it names none.
Result<std::vector<std::string>> names_of(const gantry_model_options& options) {
  std::vector<std::string> names;
  if (options.devices == nullptr && options.device_count == 0) return names;
  GANTRY_CHECK(check_pointer(options.devices, "model_new", "devices"));
  for (std::uint32_t i = 0; i < options.device_count; ++i) {
    GANTRY_CHECK(check_text(options.devices[i], "model_new", "a device"));
    names.emplace_back(view_of(options.devices[i]));
  }
  if (names.empty())
    return invalid("model has 0 devices, minimum is 1").with_reason("ARGUMENT_COUNT");
  return names;
}

}  // namespace

Result<Ref<ModelObject>> new_model(ModuleNode& node, const gantry_model_options* given) {
  GANTRY_TRY(const gantry_model_options known,
             read_options(given, GANTRY_MODEL_CAPTURE, "gantry_model_options"));
  ModelSource source{.runtime = state_of(*node.artifact),
                     .module = Ref<ModuleNode>::share(&node),
                     .devices = {},
                     .capture = (known.flags & GANTRY_MODEL_CAPTURE) != 0};
  GANTRY_TRY(source.devices, names_of(known));
  // Each model of an archive has devices of its own.
  if (!source.devices.empty() || archived_models(node).empty()) {
    GANTRY_TRY(source.devices,
               model_devices(*source.runtime, *node.artifact, {source.devices, "model_new"}));
  }
  GANTRY_TRY(std::shared_ptr<ModelState> first, model_state(source));
  const auto threads = static_cast<std::uint32_t>(std::max(1, source.runtime->pool->size()));
  ModelInstances::Make make = [source] { return model_state(source); };
  return new_model_object(source.runtime, std::move(first), std::move(make),
                          known.executors != 0 ? known.executors : threads);
}

Result<Ref<ModuleNode>> module_of(ModelObject& model) {
  GANTRY_TRY(const std::shared_ptr<ModelState> apart, model.instances.apart());
  return apart->module;
}

Result<const Signature*> signature_of(ModelObject& model, std::string_view function) {
  if (const Signature* const known = model.signatures.find(function)) return known;
  ModelInstances::Use use(model.instances);
  GANTRY_CHECK(use.begin());
  GANTRY_TRY(const FunctionState* const state, use->function(function));
  return model.signatures.add(function, *state);
}

}  // namespace gantry
