// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/payload_check.hpp"

#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/payload.hpp"
#include "core/engine/runtime/state.hpp"

namespace gantry {

std::vector<PayloadCheck> check_payload(RuntimeState& state, const Artifact& artifact,
                                        std::size_t index) {
  const Entry& entry = artifact.container.entries[index];
  PayloadCheck check;
  check.entry = index;
  check.location = location_of_entry(index, entry.type_key, artifact.name);
  std::vector<PayloadCheck> checks;
  const auto run = [&]() -> Status {
    GANTRY_TRY(const auto server, state.plugins->for_key(entry.type_key));
    check.plugin = server->plugin->id;
    const PayloadLoader loader(state, server, artifact, entry.type_key);
    std::int32_t count = 1;
    if (loader.device_kind() != nullptr) {
      GANTRY_TRY(const auto device, state.device(loader.device_kind()));
      GANTRY_TRY(count, device_count(*device));
    }
    for (std::int32_t i = 0; i < count; ++i) {
      check.device =
          loader.device_kind() != nullptr ? concat(loader.device_kind(), ":", i) : std::string();
      check.verdict = loader.check(entry, index, i);
      checks.push_back(check);
    }
    return {};
  };
  if (Status done = run(); !done.ok()) {
    check.verdict = std::move(done).error();
    checks.push_back(check);
  }
  return checks;
}

std::vector<std::size_t> served_payloads(RuntimeState& state, const Artifact& artifact) {
  std::vector<std::size_t> served;
  for (std::size_t i = 0; i < artifact.container.entries.size(); ++i) {
    const Entry& entry = artifact.container.entries[i];
    // A type key without a usable plugin is reported as a requirement.
    if (!entry.is_library() && !entry.type_key.empty() &&
        state.plugins->usable_for_key(entry.type_key, Depth::dependencies))
      served.push_back(i);
  }
  return served;
}

std::vector<PayloadCheck> check_payloads(RuntimeState& state, const Artifact& artifact) {
  std::vector<PayloadCheck> checks;
  for (const std::size_t entry : served_payloads(state, artifact)) {
    for (PayloadCheck& check : check_payload(state, artifact, entry))
      checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace gantry
