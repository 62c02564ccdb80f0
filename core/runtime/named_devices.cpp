// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/named_devices.hpp"

#include "core/format/model_signature.hpp"
#include "core/tensor/device_set.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

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

}  // namespace

NamedDevices named_devices(const Artifact& artifact, const PluginSet& plugins) {
  NamedDevices named;
  for (const Entry& entry : artifact.container.entries) {
    const auto signature = read_signature(entry);
    // An invalid graph is reported when an executor is created.
    if (!signature.ok() || !*signature) continue;
    for (const std::int64_t number : (*signature)->device_numbers) {
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
