// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/served_keys.hpp"

#include "core/engine/runtime/state.hpp"

#include <gantry/join.hpp>

#include <map>

namespace gantry {
namespace {

// Returns one sentence, because every failed look-up repeats it. explain() has the details.
std::string why_missing(const RuntimeState& state, const Requirement& requirement,
                        const Error& failure) {
  const ExplainedRequirement explained =
      explain(*state.plugins, {requirement}).requirements.front();
  const auto sentence = [](std::string_view text) { return text.substr(0, text.find('\n')); };
  // `failure` is the only reason.
  if (explained.served) return std::string(sentence(failure.message));
  std::string why = join(explained.candidates, "; ", [&](const ExplainedCandidate& candidate) {
    return concat(candidate.id, " ", candidate.version, ": ", sentence(candidate.text));
  });
  if (why.empty()) why = "no plugin offers it";
  return explained.advice.empty() ? why : concat(why, "; ", explained.advice);
}

}  // namespace

Requirement requirement_of(const ServedKey& key, std::string_view file_name) {
  Requirement requirement{std::string(key.name), false, {}};
  for (const std::size_t i : key.entries)
    requirement.required_by.push_back(location_of_entry(i, key.name, file_name));
  return requirement;
}

// A file has few keys but may have thousands of modules. The keys are in a tree, because a file can
// choose keys that have the same hash.
ServedKeys::ServedKeys(const Artifact& artifact) : file_name_(artifact.name) {
  const Container& container = artifact.container;
  std::map<std::string_view, std::uint32_t> numbers;
  key_of_.reserve(container.entries.size());
  for (std::size_t i = 0; i < container.entries.size(); ++i) {
    const std::string_view name = container.entries[i].type_key;
    if (key_of_.empty() || keys_[key_of_.back()].name != name) {
      const auto [known, added] =
          numbers.try_emplace(name, static_cast<std::uint32_t>(keys_.size()));
      if (added) keys_.push_back({name, {}, {}, {}, {}});
      key_of_.push_back(known->second);
    } else {
      key_of_.push_back(key_of_.back());
    }
    keys_[key_of_.back()].entries.push_back(i);
  }
}

// Returns one error for all keys that no plugin serves; OK if there are none.
Status ServedKeys::check_served(const RuntimeState& state,
                                const std::vector<ServedKey*>& wanted) const {
  std::vector<Requirement> requirements;
  for (const ServedKey* key : wanted) requirements.push_back(requirement_of(*key, file_name_));
  Explanation explanation = explain(*state.plugins, requirements);
  if (explanation.all_served()) return {};
  add_changes(*state.plugins, explanation);
  return unserved_error(explanation, file_name_);
}

Status ServedKeys::find_servers(const RuntimeState& state, bool allow_missing) {
  std::vector<ServedKey*> wanted;
  for (ServedKey& key : keys_) {
    if (key.name == library_key) continue;
    // The entry follows a payload of unknown length, whose own key is reported.
    if (key.name.empty()) {
      key.missing = "it follows a payload of unknown length";
      continue;
    }
    wanted.push_back(&key);
  }
  // All plugin files are inspected before the code of any plugin runs. A single plugin's file is
  // inspected when it is opened.
  bool usable = true;
  if (!allow_missing && wanted.size() > 1) {
    for (const ServedKey* key : wanted)
      usable = state.plugins->usable_for_key(key->name, Depth::library) && usable;
  }
  if (!usable) {
    // The load fails. Checks dependencies too, so that the error reports all missing ones.
    for (const ServedKey* key : wanted)
      state.plugins->usable_for_key(key->name, Depth::dependencies);
    GANTRY_CHECK(check_served(state, wanted));
  }
  std::optional<Error> failure;
  for (ServedKey* key : wanted) {
    auto server = state.plugins->for_key(key->name);
    if (server.ok()) {
      key->server = std::move(*server);
    } else if (allow_missing) {
      key->missing = why_missing(state, requirement_of(*key, file_name_), server.error());
    } else if (!failure) {
      failure = std::move(server).error();
    }
  }
  if (!failure) return {};
  GANTRY_CHECK(check_served(state, wanted));
  // A plugin looks up its own type key while it is created.
  return std::move(*failure);
}

}  // namespace gantry
