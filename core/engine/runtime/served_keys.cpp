// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/served_keys.hpp"

#include "core/base/reason.hpp"
#include "core/engine/runtime/missing_keys.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <map>

namespace gantry {
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
      if (added) {
        keys_.push_back({name, {}, {}, {}, {}});
        keys_.back().are_kernels = content_of(name) == PayloadContent::kernels;
      }
      key_of_.push_back(known->second);
    } else {
      key_of_.push_back(key_of_.back());
    }
    keys_[key_of_.back()].entries.push_back(i);
  }
}

Status ServedKeys::check(const RuntimeState& state, const std::vector<ServedKey*>& wanted) const {
  std::vector<Requirement> requirements;
  for (const ServedKey* key : wanted) requirements.push_back(requirement_of(*key, file_name_));
  return check_served(state, requirements, file_name_);
}

// A load that fails checks dependencies too, so that the error reports all missing ones.
Status ServedKeys::check_all(const RuntimeState& state,
                             const std::vector<ServedKey*>& wanted) const {
  for (const ServedKey* key : wanted) state.plugins->usable_for_key(key->name, Depth::dependencies);
  return check(state, wanted);
}

Status ServedKeys::find_servers(const RuntimeState& state, const LoadPermissions& options) {
  std::vector<ServedKey*> wanted;
  // What follows a payload of unknown length is not known, so that nothing can be left out.
  const bool is_known = std::ranges::none_of(keys_, &std::string_view::empty, &ServedKey::name);
  const auto may_be_undecided = [&](const ServedKey& key) {
    return is_known && !options.strict && key.are_kernels;
  };
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
  if (!options.allow_missing && wanted.size() > 1) {
    for (ServedKey* key : wanted) {
      if (state.plugins->usable_for_key(key->name, Depth::library)) continue;
      if (may_be_undecided(*key)) {
        key->undecided = unavailable("no usable plugin serves ", quoted(key->name))
                             .with_reason(reason::no_plugin.tag)
                             .error();
      } else {
        usable = false;
      }
    }
  }
  if (!usable) GANTRY_CHECK(check_all(state, wanted));
  std::optional<Error> failure;
  for (ServedKey* key : wanted) {
    if (key->undecided) continue;
    auto server = state.plugins->for_key(key->name);
    if (server.ok()) {
      key->server = std::move(*server);
    } else if (options.allow_missing) {
      key->missing = why_missing(state, requirement_of(*key, file_name_), server.error());
    } else if (may_be_undecided(*key)) {
      key->undecided = std::move(server).error();
    } else if (!failure) {
      failure = std::move(server).error();
    }
  }
  if (!failure) return {};
  GANTRY_CHECK(check(state, wanted));
  // A plugin looks up its own type key while it is created.
  return std::move(*failure);
}

bool ServedKeys::has_undecided() const {
  return std::ranges::any_of(keys_, [](const ServedKey& key) { return key.undecided.has_value(); });
}

Status ServedKeys::decide_kernels(const RuntimeState& state, const UsedDevices& used) {
  std::vector<ServedKey*> needed;
  for (ServedKey& key : keys_) {
    if (!key.undecided) continue;
    if (!used.exclude(key.name, *state.plugins)) {
      needed.push_back(&key);
      continue;
    }
    const Requirement requirement = requirement_of(key, file_name_);
    key.missing =
        leave_out(state, requirement, used, why_missing(state, requirement, *key.undecided));
  }
  if (needed.empty()) return {};
  GANTRY_CHECK(check_all(state, needed));
  return std::move(*needed.front()->undecided);
}

}  // namespace gantry
