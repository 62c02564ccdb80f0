// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/named_devices.hpp"

#include "core/format/model_signature.hpp"
#include "core/format/relay_code.hpp"
#include "core/tensor/device_set.hpp"

#include <gantry/device_name.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace gantry {
namespace {

constexpr std::string_view cpu = "cpu";

void add(std::string_view kind, NamedDevices& named) {
  if (std::ranges::find(named.kinds, kind) == named.kinds.end()) named.kinds.emplace_back(kind);
}

// The kind of device that runs modules of this type key; empty if there is none.
std::string_view kind_for_key(std::string_view key, const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates) {
    if (!candidate.manifest) continue;
    const Manifest& manifest = *candidate.manifest;
    const bool serves = std::ranges::any_of(manifest.keys, [&](const ManifestKey& each) {
      return each.key == key || std::ranges::find(each.aliases, key) != each.aliases.end();
    });
    if (serves && manifest.devices.size() == 1) return manifest.devices.front().name;
  }
  return dlpack_number(key) != 0 ? key : std::string_view();
}

// The device types that a module states; empty if it states none. An invalid graph or executable is
// reported when an executor is created.
std::vector<std::int64_t> stated_numbers(const Entry& entry) {
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

}  // namespace

NamedDevices named_devices(const Artifact& artifact, const PluginSet& plugins) {
  NamedDevices named;
  for (const Entry& entry : artifact.container.entries) {
    for (const std::int64_t number : stated_numbers(entry)) {
      const auto moved = std::ranges::find(artifact.device_numbers, number,
                                           [](const auto& pair) { return pair.first; });
      const auto type = moved == artifact.device_numbers.end() ? number : moved->second;
      const std::string_view kind = dlpack_name(static_cast<std::int32_t>(type));
      if (!kind.empty()) add(kind, named);
    }
  }
  named.required = !named.kinds.empty();
  if (!named.required) {
    const std::vector<Candidate> candidates = plugins.candidates();
    for (const Entry& entry : artifact.container.entries) {
      const std::string_view kind = kind_for_key(entry.type_key, candidates);
      if (!kind.empty()) add(kind, named);
    }
  }
  // Graphs of several devices start on an accelerator and use the CPU where they name it.
  if (const auto at = std::ranges::find(named.kinds, cpu); at != named.kinds.end())
    std::rotate(at, at + 1, named.kinds.end());
  if (named.kinds.empty()) add(cpu, named);
  return named;
}

}  // namespace gantry
