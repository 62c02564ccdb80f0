// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/default_devices.hpp"

#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/device_set.hpp"

#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace gantry {
namespace {

constexpr std::string_view cpu = "cpu";

void add(std::string_view name, std::vector<std::string>& names) {
  if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

// The kind of device that runs modules of this type key; empty if there is none.
std::string_view kind_for_key(std::string_view key, const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates) {
    if (!candidate.manifest) continue;
    const Manifest& manifest = *candidate.manifest;
    if (manifest.key_for(key) != nullptr && manifest.devices.size() == 1)
      return manifest.devices.front().name;
  }
  return dlpack_number(key) != 0 ? key : std::string_view();
}

// Graphs of several devices start on an accelerator and use the CPU where they name it.
void end_with_cpu(std::vector<std::string>& names) {
  if (const auto at = std::ranges::find(names, cpu); at != names.end())
    std::rotate(at, at + 1, names.end());
  if (names.empty()) add(cpu, names);
}

// The name of a number of this runtime; empty if none has it.
std::string_view name_of_type(const RuntimeState& state, std::int32_t type) {
  const std::shared_ptr<const Device>* const device = state.devices.find(type);
  return device != nullptr ? std::string_view((*device)->name) : dlpack_name(type);
}

// The devices that a model states: "cuda", and "cuda:1" if it uses two of them.
std::vector<std::string> stated_by(const RuntimeState& state, const gantry_model_info& info) {
  std::vector<std::string> names;
  std::vector<std::int32_t> types;
  for (std::uint32_t i = 0; i < info.device_count; ++i) {
    const std::int32_t type = info.device_types[i];
    const auto index = std::ranges::count(types, type);
    types.push_back(type);
    const std::string_view kind = name_of_type(state, type);
    if (!kind.empty()) names.push_back(index == 0 ? std::string(kind) : concat(kind, ":", index));
  }
  return names;
}

// Checks that named devices exist and include those that the model states.
Status check_named(RuntimeState& state, const Artifact& artifact, const DefaultDevices& defaults,
                   const NamedDevices& named) {
  std::vector<gantry_device_id> given;
  for (const std::string& name : named.names) {
    GANTRY_TRY(const gantry_device_id id, given_device(state, name));
    given.push_back(id);
  }
  if (!defaults.are_stated) return {};
  // The kind of each device counts, not its index.
  const auto is_given = [&](const std::string& stated) {
    const std::string_view kind = std::string_view(stated).substr(0, stated.find(':'));
    return std::ranges::any_of(
        given, [&](const gantry_device_id& id) { return name_of_type(state, id.type) == kind; });
  };
  const bool are_given = defaults.alternatives.empty()
                             ? std::ranges::all_of(defaults.names, is_given)
                             : std::ranges::any_of(defaults.alternatives, is_given);
  if (are_given) return {};
  return invalid(quoted(artifact.name), " is made for ",
                 join(defaults.alternatives.empty() ? defaults.names : defaults.alternatives), ", ",
                 named.source, " names ", join(named.names), "; ", devices_text(state))
      .with_reason("DEVICE");
}

}  // namespace

DefaultDevices implied_devices(const Artifact& artifact, const PluginSet& plugins) {
  DefaultDevices defaults;
  const std::vector<Candidate> candidates = plugins.candidates();
  for (const Entry& entry : artifact.container.entries) {
    const std::string_view kind = kind_for_key(entry.type_key, candidates);
    if (!kind.empty()) add(kind, defaults.names);
  }
  end_with_cpu(defaults.names);
  return defaults;
}

Result<DefaultDevices> default_devices(RuntimeState& state, ModuleNode& module) {
  GANTRY_TRY(const std::vector<ModelState::Member> models, models_of(state, module));
  DefaultDevices defaults;
  for (const ModelState::Member& model : models) {
    std::vector<std::string> stated = stated_by(state, model.info);
    if ((model.info.flags & GANTRY_MODEL_ALTERNATIVES) != 0 && !stated.empty()) {
      add(stated.front(), defaults.names);
      if (models.size() == 1) defaults.alternatives = std::move(stated);
      continue;
    }
    for (const std::string& name : stated) add(name, defaults.names);
  }
  if (defaults.names.empty()) return implied_devices(*module.artifact, *state.plugins);
  defaults.are_stated = true;
  end_with_cpu(defaults.names);
  return defaults;
}

std::string made_for_text(RuntimeState& state, const Artifact& artifact,
                          const DefaultDevices& defaults) {
  return concat(quoted(artifact.name), " is made for ", join(defaults.names), "; ",
                devices_text(state));
}

Result<std::vector<std::string>> model_devices(RuntimeState& state, ModuleNode& module,
                                               const NamedDevices& named) {
  GANTRY_TRY(DefaultDevices defaults, default_devices(state, module));
  const Artifact& artifact = *module.artifact;
  if (!named.names.empty()) {
    GANTRY_CHECK(check_named(state, artifact, defaults, named));
    return std::vector<std::string>(named.names.begin(), named.names.end());
  }
  for (const std::string& name : defaults.names) {
    const auto device = find_device(state, name);
    if (device.ok()) continue;
    const Error& cause = device.error();
    return fail(cause.code, made_for_text(state, artifact, defaults))
        .with_reason(cause.reason)
        .at(cause.message);
  }
  return std::move(defaults.names);
}

}  // namespace gantry
