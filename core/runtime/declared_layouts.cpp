// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/declared_layouts.hpp"

#include <algorithm>

namespace gantry {
namespace {

// Keys are remembered, and containers can ask for any number of them. After so many all manifests are asked.
constexpr std::size_t kMaxKeys = 64;

}  // namespace

// Who names the key; and where it is an alias there, who names the key that it stands for.
DeclaredLayouts::Candidates DeclaredLayouts::candidates_for(std::string_view type_key) const {
  Candidates all;
  std::vector<std::string> keys = {std::string(type_key)};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Candidates naming = plugins_.candidates_naming_key(keys[i]);
    for (const auto& [index, candidate] : naming) {
      const std::string& key = candidate.manifest->key_for(keys[i])->key;
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
    all.merge(naming);
  }
  return all;
}

PayloadLayouts DeclaredLayouts::layouts_of(const Candidates& candidates) const {
  std::vector<const Candidate*> ordered;
  for (const auto& [index, candidate] : candidates) ordered.push_back(&candidate);
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const Candidate* one) { return one->was_eligible; });
  const auto is_offered = [&](const std::string& key) {
    const std::string override_id = plugins_.override_of(key);
    return std::any_of(ordered.begin(), ordered.end(), [&](const Candidate* one) {
      return one->was_eligible && one->manifest->key_for(key) != nullptr &&
             (override_id.empty() || override_id == one->manifest->id);
    });
  };
  PayloadLayouts layouts = built_in_;
  for (const Candidate* candidate : ordered) {
    for (const ManifestKey& key : candidate->manifest->keys) {
      if (!candidate->was_eligible && is_offered(key.key)) continue;
      if (key.payload && !layouts.knows(key.key)) layouts.add(key.key, *key.payload);
      if (!layouts.knows(key.key)) continue;
      for (const std::string& alias : key.aliases) {
        // known: cannot fail
        if (!layouts.knows(alias)) (void)layouts.alias(alias, key.key);
      }
    }
  }
  return layouts;
}

DeclaredLayouts::Candidates DeclaredLayouts::all_candidates() const {
  Candidates all;
  for (Candidate& candidate : plugins_.candidates()) {
    const bool from_file = candidate.manifest && !candidate.manifest->file.empty();
    if (from_file) all.emplace(all.size(), std::move(candidate));
  }
  return all;
}

std::span<const PayloadLayout> DeclaredLayouts::of(std::string_view type_key) {
  bool few = true;
  {
    const std::lock_guard lock(mutex_);
    const auto at = known_.find(type_key);
    if (at != known_.end()) return at->second;
    if (complete_) return {};
    few = known_.size() < kMaxKeys;
  }
  // Without the lock: what is odd in a manifest is logged when it is parsed, and the log may be the program's.
  const PayloadLayouts layouts = layouts_of(few ? candidates_for(type_key) : all_candidates());
  const std::lock_guard lock(mutex_);
  for (const std::string_view key : few ? std::vector{type_key} : layouts.keys()) {
    const auto found = layouts.alternatives(key);
    known_.try_emplace(std::string(key), found.begin(), found.end());
  }
  complete_ = complete_ || !few;
  const auto found = known_.find(type_key);
  if (found == known_.end()) return {};
  return found->second;
}

}  // namespace gantry
