// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/explain_plugin.hpp"

#include "core/base/near_name.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <set>

namespace gantry {
namespace {

// Masked and replaced manifests are not parsed when plugins are searched.
std::shared_ptr<const Manifest> manifest_behind(const Candidate& candidate) {
  if (candidate.manifest) return candidate.manifest;
  if (candidate.reason != reason::masked && candidate.reason != reason::replaced_by) return nullptr;
  Result<Manifest> manifest = open_manifest(candidate.file);
  return manifest.ok() ? std::make_shared<const Manifest>(*std::move(manifest)) : nullptr;
}

Error unknown_id(std::string_view id, const std::vector<Candidate>& candidates,
                 const std::set<std::string>& ids, const Explanation& explanation) {
  Error error =
      not_found("plugin ", quoted(id), " not found", did_you_mean(id, {ids.begin(), ids.end()}))
          .with_reason(reason::no_plugin.tag);
  error.at("installed plugins: ", ids.empty() ? "none" : join(ids, ", ", {}, max_listed_names));
  for (const Candidate& candidate : candidates) {
    const bool hidden =
        candidate.reason == reason::masked || candidate.reason == reason::replaced_by;
    if (candidate.manifest || hidden) continue;
    error.at("manifest that cannot be read: ", candidate.file, ", ", name_of(candidate.reason));
  }
  error.at("searched: ", join(explanation.locations, "; ",
                              [](const SearchLocation& location) { return describe(location); }));
  return error;
}

std::vector<Requirement> requirements_of(const Manifest& manifest) {
  std::vector<Requirement> all;
  for (const ManifestKey& key : manifest.keys) {
    all.push_back({key.key, false, {}});
    for (const std::string& alias : key.aliases) all.push_back({alias, false, {}});
  }
  for (const ManifestDevice& device : manifest.devices) all.push_back({device.name, true, {}});
  return all;
}

bool is_shadowed(const ExplainedCandidate& one) { return one.verdict == Verdict::shadowed; }

}  // namespace

Result<ExplainedPlugin> explain_plugin(const PluginSet& plugins, std::string_view id) {
  const std::vector<Candidate> candidates = plugins.candidates();
  ExplainedPlugin out;
  out.id = id;
  std::set<std::string> ids;
  std::shared_ptr<const Manifest> first;
  bool has_used = false;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    std::shared_ptr<const Manifest> manifest = manifest_behind(candidate);
    if (!manifest) continue;
    ids.insert(manifest->id);
    if (manifest->id != id) continue;
    ExplainedManifest one;
    one.candidate = explain_candidate(candidate, i);
    one.location = candidate.location_name;
    one.drop_ins = candidate.drop_ins;
    // A candidate that is or was eligible takes precedence; otherwise the first that was not shadowed.
    const bool takes_part = candidate.manifest && !is_shadowed(one.candidate);
    if (takes_part && (!has_used || candidate.passed >= Step::preferred)) {
      has_used = true;
      out.used = out.manifests.size();
      out.manifest = manifest;
    }
    out.manifests.push_back(std::move(one));
    if (!first) first = std::move(manifest);
  }
  if (!first) return unknown_id(id, candidates, ids, explain(plugins, {}));
  out.offers = explain(plugins, requirements_of(out.manifest ? *out.manifest : *first));
  add_changes(plugins, out.offers);
  return out;
}

}  // namespace gantry
