// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/default_devices.hpp"

#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/device_set.hpp"
#include "core/formats/aot_metadata.hpp"
#include "core/formats/model_signature.hpp"
#include "core/formats/relay_code.hpp"
#include "core/formats/type_key.hpp"

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

void add(std::string_view kind, std::vector<std::string>& kinds) {
  if (std::ranges::find(kinds, kind) == kinds.end()) kinds.emplace_back(kind);
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

// The device types that a module states; empty if it states none. An invalid graph or executable is
// reported when an executor is created.
std::vector<std::int64_t> stated_numbers(const Entry& entry) {
  if (entry.type_key == aot_factory_key) return {cpu_device_type};
  if (entry.type_key == relay_executable_key) {
    const auto code = read_relay_payload(entry.payload);
    if (!code.ok()) return {};
    const std::vector<std::int32_t> types = device_types_of(*code);
    std::vector<std::int64_t> numbers(types.begin(), types.end());
    // The machine has the CPU as its host without its being named.
    if (numbers.size() > 1) std::erase(numbers, cpu_device_type);
    return numbers;
  }
  auto signature = read_signature(entry);
  if (!signature.ok() || !*signature) return {};
  return std::move((*signature)->device_numbers);
}

// Checks that named devices exist and include those that the artifact states.
Status check_named(RuntimeState& state, const Artifact& artifact, const DefaultDevices& defaults,
                   const NamedDevices& named) {
  std::vector<std::int32_t> types;
  for (const std::string& name : named.names) {
    GANTRY_TRY(const gantry_device_id id, given_device(state, name));
    types.push_back(id.type);
  }
  if (!defaults.are_stated) return {};
  for (const std::string& kind : defaults.kinds) {
    if (std::ranges::find(types, dlpack_number(kind)) != types.end()) continue;
    return invalid(quoted(artifact.name), " is made for ", join(defaults.kinds), ", ", named.source,
                   " names ", join(named.names), "; ", devices_text(state))
        .with_reason("DEVICE");
  }
  return {};
}

}  // namespace

DefaultDevices default_devices(const Artifact& artifact, const PluginSet& plugins) {
  DefaultDevices defaults;
  std::vector<std::string>& kinds = defaults.kinds;
  for (const Entry& entry : artifact.container.entries) {
    for (const std::int64_t number : stated_numbers(entry)) {
      const auto converted = std::ranges::find(artifact.device_numbers, number,
                                               [](const auto& pair) { return pair.first; });
      const auto type = converted == artifact.device_numbers.end() ? number : converted->second;
      const std::string_view kind = dlpack_name(static_cast<std::int32_t>(type));
      if (!kind.empty()) add(kind, kinds);
    }
  }
  defaults.are_stated = !kinds.empty();
  if (!defaults.are_stated) {
    const std::vector<Candidate> candidates = plugins.candidates();
    for (const Entry& entry : artifact.container.entries) {
      const std::string_view kind = kind_for_key(entry.type_key, candidates);
      if (!kind.empty()) add(kind, kinds);
    }
  }
  // Graphs of several devices start on an accelerator and use the CPU where they name it.
  if (const auto at = std::ranges::find(kinds, cpu); at != kinds.end())
    std::rotate(at, at + 1, kinds.end());
  if (kinds.empty()) add(cpu, kinds);
  return defaults;
}

std::string made_for_text(RuntimeState& state, const Artifact& artifact,
                          const DefaultDevices& defaults) {
  return concat(quoted(artifact.name), " is made for ", join(defaults.kinds), "; ",
                devices_text(state));
}

Result<std::vector<std::string>> model_devices(RuntimeState& state, const Artifact& artifact,
                                               const NamedDevices& named) {
  DefaultDevices defaults = default_devices(artifact, *state.plugins);
  if (!named.names.empty()) {
    GANTRY_CHECK(check_named(state, artifact, defaults, named));
    return std::vector<std::string>(named.names.begin(), named.names.end());
  }
  for (const std::string& kind : defaults.kinds) {
    const auto device = find_device(state, kind);
    if (device.ok()) continue;
    const Error& cause = device.error();
    return fail(cause.code, made_for_text(state, artifact, defaults))
        .with_reason(cause.reason)
        .at(cause.message);
  }
  return std::move(defaults.kinds);
}

}  // namespace gantry
