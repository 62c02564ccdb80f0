// SPDX-License-Identifier: Apache-2.0
//
// Explains one plugin id: its manifests, and for each key and device whether it is the chosen one.
#pragma once

#include "core/plugins/choice/explain.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// One manifest file of an id, in order of precedence.
struct ExplainedManifest {
  // without `changes`, which depend on the requirement
  ExplainedCandidate candidate;
  // the search location: "/etc/gantry/plugins.d"
  std::string location;
  // in the order in which they were applied
  std::vector<std::string> drop_ins;
};

struct ExplainedPlugin {
  std::string id;
  // of the candidate that takes precedence over the others; NULL: all of them are masked
  std::shared_ptr<const Manifest> manifest;
  // index into `manifests` of that candidate
  std::size_t used = 0;
  std::vector<ExplainedManifest> manifests;
  // The keys with their aliases and the devices of `manifest`, or of the first manifest if there is
  // none, with all candidates and their changes.
  Explanation offers;
};

// returns  not_found, reason NO_PLUGIN, with near ids, the installed ids, the manifests that cannot
//          be read, and the searched locations
// costs    reads masked and replaced manifests again; otherwise as add_changes()
Result<ExplainedPlugin> explain_plugin(const PluginSet& plugins, std::string_view id);

}  // namespace gantry
