// SPDX-License-Identifier: Apache-2.0
//
// The steps of a candidate from a file to a plugin in use. The table in steps.cpp has all of them, in
// their order; nothing is decided outside of it.
//
//   step        a candidate passes it if                          else
//   found       its file exists                                   NOT_FOUND LIBRARY_PATH MANIFEST_FOLDER
//   named       no file of a higher location has its name         MASKED REPLACED_BY DUPLICATE_OF
//   read        its manifest and drop-ins are valid               D15x D16x UNREADABLE
//   filtered    it is enabled, not filtered, for this host        DISABLED FILTERED TARGET ISA
//   trusted     its files may be used                             D25x D26x
//   preferred   no candidate of its id takes precedence           SHADOWED_BY DUPLICATE_OF RESTART_NEEDED
//   - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - when something requests it:
//   resolved    its library passes inspect_plugin()               D21x D23x D25x D30x to D35x
//   probed      its probe, if its manifest requires one, passes   D51x to D54x
//   opened      its library opens, and its table is valid         D22x D23x LINKER
//   created     it can be created                                 CREATE_FAILED, its own
//   chosen      it comes first, or is the override                NOT_CHOSEN
//
// Each step is a function from a candidate to a verdict, an Error with a reason, and a function from a
// candidate that is not used to what must change (add_changes() in explain.hpp).
#pragma once

#include "core/base/log.hpp"
#include "core/plugins/library/inspect.hpp"
#include "core/plugins/library/opened_plugins.hpp"
#include "core/plugins/library/plugin.hpp"
#include "core/plugins/manifest/candidate.hpp"
#include "core/plugins/manifest/filter.hpp"
#include "core/plugins/manifest/manifest_cache.hpp"
#include "core/plugins/manifest/search_path.hpp"
#include "core/plugins/probe/prober.hpp"
#include "core/plugins/trust/trust.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gantry {

// Creates an opened plugin; implemented by core/engine/runtime. Called without a lock held, once for each
// plugin that is opened. The deleter of the result destroys the plugin.
using CreatePlugin = std::function<Result<std::shared_ptr<void>>(
    const std::shared_ptr<const LoadedPlugin>& plugin, const Manifest& manifest)>;

// What the steps of all candidates of a runtime use.
struct ChoiceOptions {
  std::vector<PluginFilter> filters;
  // type key, device or global -> plugin id
  std::vector<std::pair<std::string, std::string>> overrides;
  // its texts must outlive the candidates
  gantry_host_info core{};
  CreatePlugin create;
  // NULL: all files are trusted
  std::shared_ptr<const Trust> trust;
  // borrowed; what this process has opened. NULL: opened plugins are not compared
  OpenedPlugins* opened = nullptr;
  // borrowed; opens plugins in a child process first. NULL: they are opened in this process only
  Prober* prober = nullptr;
  // borrowed; NULL: nothing is logged
  const Log* log = nullptr;
  // try the next plugin that offers a type key or device if one fails
  bool fallback = true;
  // the file that forbids it
  std::string fallback_source = {};

  // The override of a type key, device or global, or empty.
  std::string_view override_of(std::string_view what) const;
};

struct AllFound;

// A candidate on its way through the steps, with what they have made.
struct Passage {
  const ChoiceOptions& options;
  Candidate& candidate;
  // borrowed, by the steps up to `preferred`
  AllFound* all = nullptr;
  // of a plugin that is part of the program
  decltype(&gantry_plugin_query_v1) query = nullptr;
  Depth depth = Depth::library;
  // held while a library is opened; NULL: nothing else opens one
  std::mutex* load_mutex = nullptr;
  // of the manifest, by `read`
  std::string text = {};
  // of `resolved`
  std::optional<Inspection> inspection = {};
  // of `opened`
  std::shared_ptr<const LoadedPlugin> plugin = {};
  // of `created`
  std::shared_ptr<void> instance = {};
};

// Takes one step, from `resolved` to `created`. A candidate that passes it has `passed` set; one that
// does not is unchanged.
//
// thread   one at a time for a candidate
Status take(Step step, Passage& at);

struct Discovery {
  // in order of precedence
  std::vector<Candidate> candidates;
  // from the search, the manifests in order of precedence, policies, drop-ins and filters
  std::vector<Message> warnings;
};

// Takes all manifests that were found from `named` to `preferred`. A trusted mask is no candidate; a
// candidate that stops remains in the list, with the reason. No library is opened.
//
// cache    [in]   NULL: every manifest is parsed
// costs    reads and parses each manifest that is neither masked nor replaced: about 60 us each; of
//          those that `cache` has it only checks the stamps: about 10 us each
Discovery discover(SearchResult& found, const ChoiceOptions& options,
                   ManifestCache* cache = nullptr);

// What texts and reports call a candidate whose last step it is: "found", "parsed", "trusted".
std::string_view name_of(Step step);

// Shadows a candidate by a plugin of the program with its id.
void shadow_by_program(Candidate& candidate, std::string_view title);

// The order of the candidates of one id, which have manifests: a candidate of a higher tier, or of the
// same tier and of a higher version, precedes. Of two that are equal the one that was found first does.
bool precedes(const Candidate& a, const Candidate& b);

// Why one candidate of an id is not used beside another one.
//
// returns  unavailable, reason SHADOWED_BY or DUPLICATE_OF, with version and file of `winner`
Status shadowed(const Candidate& loser, const Candidate& winner);

// Decides whether a candidate may take the place of a refused one of its id: only for a cause that is
// in the files of the refused one, and only from a tier whose signature policy is the same or
// stricter. Otherwise the state of the host, or a damaged file, would let an unsigned plugin run in
// the place of a signed one.
bool may_replace(const ChoiceOptions& options, const Candidate& refused, const Candidate& other);

// The order of choice: by priority and version, the higher first, then by id, the bytewise lower
// first.
bool comes_first(const Manifest& a, const Manifest& b);

// Decides whether an override excludes a plugin.
//
// override_id  [in]  empty: none
// returns  unavailable, reason NOT_CHOSEN
Status check_override(std::string_view override_id, const Manifest& manifest);

// Decides whether a plugin is tried that is not the first in the order of choice.
//
// returns  unavailable, reason NOT_CHOSEN, if `options.fallback` is false
Status check_fallback(const ChoiceOptions& options, const Candidate& candidate);

// What would have to change so that a candidate were the chosen one.
struct Counterfactual {
  const ChoiceOptions& options;
  // of the runtime
  std::span<const Candidate> candidates;
  std::size_t index;
  // the requirement, and the plugin that its override names; empty: none
  std::string_view what, override_id;
  // the first candidate of another plugin that would be chosen; NULL: none
  const Manifest* rival = nullptr;
  // a defect is among the changes; later steps can only be judged when it is repaired
  bool has_defect = false;
  std::vector<Message> changes = {};

  const Candidate& self() const { return candidates[index]; }
};

// Follows a candidate with a manifest through all steps and collects what must change at each.
//
// costs    inspects a candidate that no earlier step has inspected; runs no code of it
std::vector<Message> changes_of(Counterfactual of);

}  // namespace gantry
