// SPDX-License-Identifier: Apache-2.0
#include "core/embed/models.hpp"

#include "core/embed/arguments.hpp"
#include "core/runtime/devices.hpp"
#include "core/runtime/named_devices.hpp"
#include "core/runtime/state.hpp"

#include <gantry/value.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

// The devices that the artifact is made for. The CPU, if the program has accepted that a plugin is
// missing and a device is not there.
Result<std::vector<std::string>> usual_devices(Runtime& runtime, const Module& module) {
  const Artifact& artifact = *reinterpret_cast<const ModuleNode*>(module.get())->artifact;
  const NamedDevices named = named_devices(artifact, *RuntimeAccess::state(runtime).plugins);
  for (const std::string& kind : named.kinds) {
    auto device = runtime.device(kind);
    if (device.ok()) continue;
    if (!named.required && !module.missing().empty()) return std::vector<std::string>{"cpu"};
    return std::move(device).failure().at("while choosing the devices of ", artifact.name);
  }
  return named.kinds;
}

Result<std::vector<std::string>> devices_of(const gantry_model_options& options, Runtime& runtime,
                                            const Module& module) {
  if (options.devices == nullptr && options.device_count == 0)
    return usual_devices(runtime, module);
  GANTRY_CHECK(check_pointer(options.devices, "model_new", "devices"));
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < options.device_count; ++i) {
    GANTRY_CHECK(check_text(options.devices[i], "model_new", "a device"));
    const std::string& name = names.emplace_back(view_of(options.devices[i]));
    // A graph looks devices up when an executor is created, which is after model_new.
    GANTRY_CHECK(given_device(runtime, name));
  }
  if (names.empty())
    return invalid("model has 0 devices, minimum is 1").with_reason("ARGUMENT_COUNT");
  return names;
}

}  // namespace

Result<Ref<ModelObject>> new_model(ModuleNode& node, const gantry_model_options* given) {
  GANTRY_TRY(const gantry_model_options known,
             read_options(given, GANTRY_MODEL_CAPTURE, "gantry_model_options"));
  Runtime runtime = RuntimeAccess::handle(state_of(*node.artifact));
  gantry_retain(&node.header);
  const Module module(Object::adopt(&node.header));
  GANTRY_TRY(const std::vector<std::string> devices, devices_of(known, runtime, module));
  const ModelOptions options{.capture = (known.flags & GANTRY_MODEL_CAPTURE) != 0};
  ModelInstances::Make make = [runtime, module, devices, options] {
    return model_state(runtime, module, RuntimeAccess::state(runtime).layouts, devices, options);
  };
  GANTRY_TRY(std::shared_ptr<ModelState> first, make());
  const auto threads = static_cast<std::uint32_t>(std::max(1, runtime.threads()));
  return new_model_object(std::move(runtime), std::move(first), std::move(make),
                          known.executors != 0 ? known.executors : threads);
}

Result<const gantry_signature*> signature_of(ModelObject& model, std::string_view function) {
  if (const gantry_signature* const known = model.signatures.find(function)) return known;
  ModelInstances::Use use(model.instances);
  GANTRY_CHECK(use.begin());
  GANTRY_TRY(const FunctionState* const state, use->function(function));
  return model.signatures.add(function, *state);
}

}  // namespace gantry
