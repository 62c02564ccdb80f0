// SPDX-License-Identifier: Apache-2.0
//
// Why a plugin is chosen and others are not: one object for the error of a failed load, for `gantry
// plugins doctor` and for the embedder.
#pragma once

#include "core/plugin/plugin_set.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A type key or device that an artifact or a user requires.
struct Requirement {
  // type key, or device name
  std::string what;
  bool device = false;
  // `entry 2 "cuda" of model.so`; empty: shown for completeness
  std::vector<std::string> required_by;
};

enum class Verdict {
  // serves it, or would
  chosen,
  // would serve it if those above failed
  next,
  // cannot: broken, too old, something missing
  refused,
  // another manifest of the same id or file name counts
  shadowed,
  // switched off: filtered, disabled, masked
  skipped,
};
std::string_view name_of(Verdict verdict);

struct ExplainedCandidate {
  Verdict verdict = Verdict::refused;
  std::string id, version, file, title, support;
  int tier = 0;
  std::int32_t priority = 0;
  CandidateState state = CandidateState::found;
  Reason reason;
  std::string text;
};

struct ExplainedRequirement {
  Requirement requirement;
  bool served = false;
  // plugin id; empty: none
  std::string override_id;
  // in the order of choice, then those that do not count
  std::vector<ExplainedCandidate> candidates;
  // keys that are served and may have been meant
  std::vector<std::string> near;
  // what to install, repair or change; empty: a candidate's reason says it
  std::string advice;
  // see PluginSet::tie_for
  std::string tie;
};

struct Explanation {
  // "core 0.1.0  abi 1.0  schema 1.0  ..."
  std::string core;
  std::vector<SearchLocation> locations;
  std::vector<ExplainedRequirement> requirements;
  // manifests that cannot be read: they may have offered anything
  std::vector<ExplainedCandidate> unreadable;
  std::vector<std::string> served_keys;
  std::vector<std::string> warnings;

  bool all_served() const;
};

// wishes   [in]   in the order in which they are to be told
Explanation explain(const PluginSet& plugins, const std::vector<Requirement>& requirements);

// One wish for each key and device that somebody offers or an artifact wants, bytewise: what doctor
// shows.
std::vector<Requirement> all_requirements(const PluginSet& plugins,
                                          std::vector<Requirement> wanted);

// The text form of doctor.
std::string to_text(const Explanation& explanation);

// One error for all wishes that are not served.
//
// subject  [in]   "model.so"
// returns  unavailable, reason NO_PLUGIN: every unserved key with its candidates and their reasons,
//          near keys, what to install; then the keys that are served and everything that was
//          searched
Error unserved_error(const Explanation& explanation, std::string_view subject);

}  // namespace gantry
