// SPDX-License-Identifier: Apache-2.0
//
// Explains why a plugin is chosen and others are not: one object for the error of a failed load,
// for `gantry plugins doctor` and for the embedder.
#pragma once

#include "core/plugins/choice/plugin_set.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A type key or device that an artifact or a user requires.
struct Requirement {
  // type key, or device name
  std::string what;
  bool device = false;
  // `entry 2 "cuda" of model.so`; empty: not required, only listed
  std::vector<std::string> required_by;
};

enum class Verdict {
  // serves the requirement, or would serve it
  chosen,
  // would serve it if the candidates above failed
  next,
  // cannot serve it: broken, too old, or a dependency is missing
  refused,
  // another manifest with the same id or file name takes precedence
  shadowed,
  // filtered, disabled or masked
  skipped,
};
std::string_view name_of(Verdict verdict);

struct ExplainedCandidate {
  Verdict verdict = Verdict::refused;
  std::string id, version, file, title, support;
  Tier tier = Tier::program;
  std::int32_t priority = 0;
  Step passed = Step::found;
  std::optional<ProbeNote> probe;
  // Of a plugin in use: STALE_MAPPED if its file was changed after it was opened.
  Reason reason;
  Message text;
  // index into PluginSet::candidates()
  std::size_t index = 0;
  // Of a chosen plugin: the newer manifest of its id that it shadows, "2.0.0 of /x/npu.yaml"; empty:
  // there is none.
  std::string newer;
  // All of these changes together would make it the chosen one: see add_changes().
  std::vector<Message> changes;
};

struct ExplainedRequirement {
  Requirement requirement;
  bool served = false;
  // plugin id; empty: none
  std::string override_id;
  // in the order of choice, followed by the candidates that are not choices
  std::vector<ExplainedCandidate> candidates;
  // served keys with a similar name
  std::vector<std::string> near;
  // "acme.npu 1.0.0 of /etc/gantry/plugins.d/npu.yaml, because GANTRY_PLUGIN_FILES ...": the manifests
  // that offer it in locations that are not searched, by cause; empty if it is served
  std::vector<std::string> unsearched;
  // what to install, repair or change; empty if the reason of a candidate or `unsearched` states it
  std::string advice;
  // Only a plugin of a vendor would serve the key, and no manifest offers one.
  bool is_vendors = false;
  // see PluginSet::tie_for
  std::string tie;
  // Why a load leaves the modules out if nothing serves them, "the model runs on cpu"; empty: it fails.
  std::string unused;
};

struct Explanation {
  // "core 0.1.0  abi 1.0  schema 1.0  ..."
  std::string core;
  std::vector<SearchLocation> locations;
  std::vector<ExplainedRequirement> requirements;
  // manifests that cannot be read, whose keys are unknown
  std::vector<ExplainedCandidate> unreadable;
  std::vector<std::string> served_keys;
  std::vector<Message> warnings;

  bool all_served() const;
};

// index    [in]   of the candidate in PluginSet::candidates()
// returns  the candidate as if it served nothing: its verdict is the one of its reason
ExplainedCandidate explain_candidate(const Candidate& candidate, std::size_t index);

// requirements  [in]   in the order of the result
Explanation explain(const PluginSet& plugins, const std::vector<Requirement>& requirements);

// Adds to each candidate that is not chosen the smallest set of changes that would make it the chosen
// one: "plugins.select or GANTRY_SELECT names acme.npu", "/x/npu.yaml is removed".
//
// costs    inspects the candidates that no earlier step has inspected; runs no code of them
void add_changes(const PluginSet& plugins, Explanation& explanation);

// Returns one requirement for each key and device that a candidate offers or that `wanted`
// contains, sorted bytewise, for `gantry plugins doctor`.
std::vector<Requirement> all_requirements(const PluginSet& plugins,
                                          std::vector<Requirement> wanted);

// Returns the text output of `gantry plugins doctor`.
std::string to_text(const Explanation& explanation);
// Returns the lines of one candidate in it.
std::string to_text(const ExplainedCandidate& one);

// Returns one error for all requirements that are not served: unavailable, or unsupported if only
// plugins of vendors would serve them; reason NO_PLUGIN. The text lists every unserved key with its candidates, their reasons and changes, similar keys and
// advice, then the served keys and all searched locations.
//
// subject  [in]   "model.so"
Error unserved_error(const Explanation& explanation, std::string_view subject);

}  // namespace gantry
