// SPDX-License-Identifier: Apache-2.0
//
// Why this plugin and not that one: one object for the error of a failed load, for `gantry plugins doctor` and for
// the embedder.
#pragma once

#include "core/plugin/plugin_set.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Something that an artifact or a user asks for.
struct Wish {
  std::string what;  // type key, or device name
  bool device = false;
  std::vector<std::string> wanted_by;  // "model.so[cuda#2]"; empty: nobody, shown for completeness
};

enum class Verdict {
  chosen,    // serves it, or would
  next,      // would serve it if those above failed
  refused,   // cannot: broken, too old, something missing
  shadowed,  // another manifest of the same id or file name counts
  skipped,   // switched off: filtered, disabled, masked
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

struct ExplainedWish {
  Wish wish;
  bool served = false;
  std::string pin;  // plugin id; empty: none
  std::vector<ExplainedCandidate>
      candidates;                 // in the order of choice, then those that do not count
  std::vector<std::string> near;  // keys that are served and may have been meant
  std::string advice;  // what to install, repair or change; empty: a candidate's reason says it
  std::string tie;     // see PluginSet::tie_for
};

struct Explanation {
  std::string core;  // "core 0.1.0  abi 1.0  schema 1.0  ..."
  std::vector<SearchPlace> places;
  std::vector<ExplainedWish> wishes;
  std::vector<ExplainedCandidate>
      unreadable;  // manifests that cannot be read: they may have offered anything
  std::vector<std::string> served_keys;
  std::vector<std::string> warnings;

  bool all_served() const;
};

// wishes   [in]   in the order in which they are to be told
Explanation explain(const PluginSet& plugins, const std::vector<Wish>& wishes);

// One wish for each key and device that somebody offers or an artifact wants, bytewise: what doctor shows.
std::vector<Wish> all_wishes(const PluginSet& plugins, std::vector<Wish> wanted);

// The text form of doctor.
std::string to_text(const Explanation& explanation);

// One error for all wishes that are not served.
//
// subject  [in]   "model.so"
// returns  unavailable, reason NO_PLUGIN: every unserved key with its candidates and their reasons, near keys, what to
//          install; then the keys that are served and everything that was searched
Error unserved_error(const Explanation& explanation, std::string_view subject);

}  // namespace gantry
