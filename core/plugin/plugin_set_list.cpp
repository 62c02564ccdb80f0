// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/inspect.hpp"
#include "core/plugin/plugin_set_state.hpp"

#include <set>

namespace gantry {

std::vector<std::string> PluginSet::served_keys() const {
  const std::lock_guard lock(state_->mutex);
  std::set<std::string> keys;
  for (const Slot& slot : state_->slots) {
    const Candidate& candidate = slot.candidate;
    if (candidate.stopped()) continue;
    const auto add = [&](const std::string& key) {
      const std::string override_id = override_of(key);
      if (override_id.empty() || override_id == candidate.manifest->id) keys.insert(key);
    };
    for (const ManifestKey& key : candidate.manifest->keys) {
      add(key.key);
      for (const std::string& alias : key.aliases) add(alias);
    }
  }
  return {keys.begin(), keys.end()};
}

std::vector<std::string> PluginSet::served_devices() const {
  const std::lock_guard lock(state_->mutex);
  std::set<std::string> names;
  for (const Slot& slot : state_->slots) {
    if (is_out(slot.candidate)) continue;
    for (const ManifestDevice& device : slot.candidate.manifest->devices) names.insert(device.name);
  }
  return {names.begin(), names.end()};
}

std::vector<Candidate> PluginSet::candidates() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Candidate> all;
  for (const Slot& slot : state_->slots) all.push_back(slot.candidate);
  return all;
}

Candidate PluginSet::candidate(std::size_t index) const {
  const std::lock_guard lock(state_->mutex);
  return state_->slots[index].candidate;
}

std::uint64_t PluginSet::fallbacks() const {
  return state_->fallbacks.load(std::memory_order_relaxed);
}

std::vector<Candidate> PluginSet::in_use() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Candidate> all;
  for (const Slot& slot : state_->slots) {
    if (slot.active) all.push_back(slot.candidate);
  }
  return all;
}

Status PluginSet::check_required() {
  std::vector<Candidate> required;
  std::set<std::string> eligible;
  {
    const std::lock_guard lock(state_->mutex);
    for (const Slot& slot : state_->slots) {
      const auto& manifest = slot.candidate.manifest;
      if (manifest && manifest->required) required.push_back(slot.candidate);
      if (manifest && !is_out(slot.candidate)) eligible.insert(manifest->id);
    }
  }
  for (const Candidate& candidate : required) {
    using namespace reason;
    const Reason& why = candidate.reason;
    if (why == shadowed_by || why == duplicate_of || why == disabled) continue;
    // The version that this process has opened is used instead.
    if (why == restart_needed && eligible.contains(candidate.manifest->id)) continue;
    Error error = unavailable(candidate.text).with_reason(why.tag);
    if (!candidate.stopped()) {
      // part of the program
      if (candidate.manifest->library_path.empty()) continue;
      const auto inspection = inspect_file(*candidate.manifest, Depth::dependencies);
      if (inspection.ok()) continue;
      error = inspection.error();
    }
    const std::string& by = candidate.drop_ins.empty() ? candidate.file : candidate.drop_ins.back();
    return unavailable("plugin ", candidate.title(), " is required by ", by,
                       " and cannot be used, ", gantry::name_of(reason_of(error)), ": ",
                       error.message)
        .with_reason(error.reason);
  }
  return {};
}

Result<Inspection> PluginSet::inspect_file(const Manifest& manifest, Depth depth) const {
  const auto library = [&](const MappedFile& mapped) -> Status {
    if (options_.opened) GANTRY_CHECK(options_.opened->check(manifest, mapped));
    return options_.trust ? options_.trust->check_library(manifest, mapped) : Status();
  };
  std::optional<Ownership> ownership;
  const auto needed = [&](const std::string& file) -> Status {
    if (!options_.trust) return {};
    if (!ownership) ownership = options_.trust->ownership();
    return ownership->check(file);
  };
  return inspect_plugin(manifest, options_.core.abi, depth, library, needed);
}

// Inspects a candidate and stores the result as its state. A failure to open it stays stored: an
// inspection does not show whether its cause is gone.
//
// returns  true if nothing prevents opening it as far as is known
bool PluginSet::inspect(std::size_t index, Depth depth) {
  Slot* slot = nullptr;
  Manifest manifest;
  // in use, being opened, or without a file
  const auto settled = [&] { return slot->query || slot->opening || slot->active; };
  {
    const std::lock_guard lock(state_->mutex);
    slot = &state_->slots[index];
    if (is_out(slot->candidate)) return false;
    if (settled()) return true;
    manifest = *slot->candidate.manifest;
  }
  const auto inspection = inspect_file(manifest, depth);
  const std::lock_guard lock(state_->mutex);
  if (is_out(slot->candidate)) return false;
  if (settled()) return true;
  Candidate& candidate = slot->candidate;
  if (!inspection.ok()) {
    candidate.state = CandidateState::eligible;
    candidate.stop(reason_of(inspection.error()), inspection.error().message);
  } else if (candidate.state == CandidateState::eligible) {
    candidate.state = CandidateState::inspected;
    candidate.stop({}, {});
  }
  return inspection.ok();
}

std::optional<Choice> PluginSet::usable_for_key(std::string_view type_key, Depth depth) {
  for (const Choice& choice : choices_for_key(type_key)) {
    if (inspect(choice.candidate, depth)) return choice;
  }
  return std::nullopt;
}

void PluginSet::inspect_all() {
  std::size_t count = 0;
  {
    const std::lock_guard lock(state_->mutex);
    count = state_->slots.size();
  }
  for (std::size_t i = 0; i < count; ++i) inspect(i, Depth::dependencies);
}

}  // namespace gantry
