// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/explain.hpp"

#include "core/base/text.hpp"
#include "core/formats/type_key.hpp"
#include "core/plugins/library/compatible.hpp"
#include "core/plugins/manifest/machine_traits.hpp"

#include <gantry/join.hpp>

#include <unistd.h>
#include <algorithm>
#include <map>
#include <set>

namespace gantry {
namespace {

bool offers(const Manifest& manifest, const Requirement& requirement) {
  return requirement.device ? manifest.offers_device(requirement.what)
                            : manifest.key_for(requirement.what) != nullptr;
}

Verdict verdict_of(const Reason& why) {
  using namespace reason;
  if (why == masked || why == filtered || why == disabled) return Verdict::skipped;
  if (why == replaced_by || why == shadowed_by || why == duplicate_of) return Verdict::shadowed;
  return Verdict::refused;
}

// The readable manifests of locations that are not searched, highest precedence first. Those that
// others can change are omitted, as in a search.
class UnsearchedManifests {
 public:
  // locations  [in]  of the search; must outlive this object
  // trust      [in]  NULL: all files are trusted
  UnsearchedManifests(const std::vector<SearchLocation>& locations, const Trust* trust)
      : locations_(locations) {
    if (trust != nullptr) ownership_ = trust->ownership();
  }

  // Returns one text for each cause: the manifests that offer something, why they are not used, and
  // what to change.
  //
  // costs    the first call reads at most 256 manifests
  std::vector<std::string> that_offer(const Requirement& requirement) {
    if (!is_read_) read();
    std::vector<std::pair<std::string, std::vector<std::string>>> by_cause;
    for (const auto& [cause, manifest] : manifests_) {
      if (!offers(manifest, requirement)) continue;
      auto at = std::ranges::find(by_cause, cause, [](const auto& one) { return one.first; });
      if (at == by_cause.end()) at = by_cause.insert(at, {cause, {}});
      at->second.push_back(concat(manifest.title(), " of ", manifest.file));
    }
    constexpr std::size_t max_listed = 5;
    std::vector<std::string> texts;
    for (const auto& [cause, titles] : by_cause)
      texts.push_back(concat(join(titles, ", ", {}, max_listed), ", because ", cause));
    return texts;
  }

 private:
  void read() {
    constexpr std::size_t max = 256;
    is_read_ = true;
    const auto is_trusted = [&](const std::string& path) {
      return !ownership_ || ownership_->check(path).ok();
    };
    for (const SearchLocation& location : locations_) {
      const std::string cause = unused_text(location);
      if (cause.empty() || !std::ranges::all_of(location.directories, is_trusted)) continue;
      for (const std::string& file : manifests_in(location)) {
        if (manifests_.size() == max) return;
        if (!is_trusted(file)) continue;
        if (auto manifest = open_manifest(file); manifest.ok())
          manifests_.emplace_back(cause, *std::move(manifest));
      }
    }
  }

  const std::vector<SearchLocation>& locations_;
  std::optional<Ownership> ownership_;
  bool is_read_ = false;
  // with the cause why they are not used
  std::vector<std::pair<std::string, Manifest>> manifests_;
};

// The reason of a candidate is not repeated, because it is always shown beside the advice.
std::string advice_for_override(const ExplainedRequirement& entry,
                                const std::vector<Candidate>& candidates) {
  const std::string is_override = concat("its override is plugin ", entry.override_id);
  std::string_view advice = ": install that plugin";
  for (const Candidate& candidate : candidates) {
    if (candidate.manifest && candidate.manifest->id == entry.override_id) {
      advice = ", which does not offer it: install a version that does";
    }
  }
  // in order of precedence
  for (const ExplainedCandidate& one : entry.candidates) {
    if (one.id != entry.override_id) continue;
    if (one.verdict == Verdict::refused) {
      advice = ", which cannot be used: repair that plugin";
      break;
    }
    if (one.verdict == Verdict::skipped) {
      advice = ", which is disabled: enable that plugin";
      break;
    }
  }
  return concat(is_override, advice, ", or change plugins.overrides");
}

// Where a plugin of this project is.
struct Package {
  std::string_view plugin;
  // of Debian, see tools/package/README.md
  std::string_view debian;
  // of pip; empty: there is no wheel
  std::string_view distribution;
};
constexpr Package packages[] = {
    {"gantry.cuda", "gantry-plugin-cuda", "gantry-runtime-cuda"},
    {"gantry.dnnl", "gantry-plugin-dnnl", ""},
    {"gantry.opencl", "gantry-plugin-opencl", "gantry-runtime-opencl"},
    {"gantry.vulkan", "gantry-plugin-vulkan", "gantry-runtime-vulkan"},
};

// ": Debian package gantry-plugin-cuda; in Python, pip install gantry-runtime-cuda". Plugins that are
// not listed are in the core's packages.
std::string package_text(std::string_view plugin) {
  const auto* const found = std::ranges::find(packages, plugin, &Package::plugin);
  const Package package =
      found != std::end(packages) ? *found : Package{plugin, "gantry-core", "gantry-runtime"};
  const std::string text = concat(": Debian package ", package.debian);
  return package.distribution.empty()
             ? text
             : concat(text, "; in Python, pip install ", package.distribution);
}

std::string advice_for(const Requirement& requirement, const ExplainedRequirement& entry,
                       const std::vector<Candidate>& candidates) {
  if (!entry.override_id.empty()) return advice_for_override(entry, candidates);
  // The reason of a candidate that cannot serve it is the advice.
  const auto refused = [](const ExplainedCandidate& one) {
    return one.verdict == Verdict::refused;
  };
  if (std::any_of(entry.candidates.begin(), entry.candidates.end(), refused)) return "";
  if (!entry.candidates.empty()) {
    const ExplainedCandidate& first = entry.candidates.front();
    return concat(
        "plugin ", first.title, " is installed: ",
        first.verdict == Verdict::shadowed ? "remove the manifest that shadows it" : "enable it");
  }
  if (!entry.unsearched.empty()) return "";
  const TypeKey* const known = find_type_key(requirement.what);
  if (requirement.device) {
    return known == nullptr || known->plugin.empty()
               ? "install a plugin for the device"
               : concat("install plugin ", known->plugin, package_text(known->plugin));
  }
  for (const std::string& near : entry.near) {
    if (known != nullptr && known->renamed == near) {
      return concat("the artifact was built by an older compiler, newer ones use the key \"", near,
                    "\"");
    }
  }
  if (entry.is_vendors) return vendor_advice(*known);
  if (known == nullptr || known->what.empty())
    return "no known plugin serves it: obtain one from the producer of the artifact";
  if (known->plugin.empty())
    return concat("no plugin of this version serves it (", known->what, ")");
  return concat("install plugin ", known->plugin, " (", known->what, ")",
                package_text(known->plugin));
}

// A plugin in use serves its keys from memory, whatever happens to its file.
void add_stale_file(const PluginSet& plugins, const Candidate& candidate, ExplainedCandidate& one) {
  const OpenedPlugins* const opened = plugins.options().opened;
  if (opened == nullptr || candidate.passed != Step::created) return;
  const Status same = opened->check_opened(*candidate.manifest);
  if (same.ok()) return;
  one.reason = reason_of(same.error());
  one.text = same.error().message;
}

// Returns the highest version of a plugin among the manifests that it shadows, if it is newer.
std::string newer_than(const Candidate& chosen, const std::vector<Candidate>& candidates) {
  const Candidate* newest = &chosen;
  for (const Candidate& other : candidates) {
    if (other.reason != reason::shadowed_by || other.manifest->id != chosen.manifest->id) continue;
    if (other.manifest->version > newest->manifest->version) newest = &other;
  }
  return newest == &chosen ? "" : concat(newest->manifest->version.text, " of ", newest->file);
}

// Lists the chosen candidate first, then the next ones, then the others in order of precedence.
ExplainedRequirement explain_requirement(const PluginSet& plugins,
                                         const std::vector<Candidate>& candidates,
                                         const std::vector<std::string>& served,
                                         const Requirement& requirement,
                                         UnsearchedManifests& unsearched) {
  ExplainedRequirement out;
  out.requirement = requirement;
  out.override_id = plugins.options().override_of(requirement.what);
  const std::vector<std::size_t> choices = requirement.device
                                               ? plugins.choices_for_device(requirement.what)
                                               : plugins.choices_for_key(requirement.what);
  std::set<std::size_t> listed;
  for (const std::size_t choice : choices) {
    // added after `candidates` was created
    if (choice >= candidates.size()) continue;
    const Candidate& candidate = candidates[choice];
    ExplainedCandidate one = explain_candidate(candidate, choice);
    const Status tried =
        choice == choices.front() ? Status() : check_fallback(plugins.options(), candidate);
    if (!candidate.stopped() && !tried.ok()) {
      one.verdict = Verdict::skipped;
      one.reason = reason_of(tried.error());
      one.text = tried.error().message;
    } else if (!candidate.stopped()) {
      one.verdict = out.served ? Verdict::next : Verdict::chosen;
      out.served = true;
      if (one.verdict == Verdict::chosen) one.newer = newer_than(candidate, candidates);
      add_stale_file(plugins, candidate, one);
    }
    listed.insert(choice);
    out.candidates.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (listed.contains(i) || !candidate.manifest || !offers(*candidate.manifest, requirement))
      continue;
    ExplainedCandidate one = explain_candidate(candidate, i);
    if (!candidate.stopped()) {
      const Status first = check_override(out.override_id, *candidate.manifest);
      one.reason = reason_of(first.error());
      one.text = first.error().message;
      one.verdict = Verdict::skipped;
    }
    out.candidates.push_back(std::move(one));
  }
  out.tie = plugins.tie_for(choices);
  if (out.served) return out;
  if (!requirement.device) out.near = near_keys(requirement.what, served);
  out.unsearched = unsearched.that_offer(requirement);
  const TypeKey* const known = find_type_key(requirement.what);
  out.is_vendors = !requirement.device && out.candidates.empty() && out.override_id.empty() &&
                   out.unsearched.empty() && known != nullptr && !known->vendor.empty() &&
                   known->plugin.empty();
  out.advice = advice_for(requirement, out, candidates);
  return out;
}

std::string core_line(const gantry_host_info& core) {
  const MachineTraits host = host_traits();
  return concat("core ", core.core_version ? core.core_version : "?", "  abi ", describe(core.abi),
                "  schema ", kSchemaMajor, ".", kSchemaMinor, "  ", host.libc_name, " ",
                host.libc_version, "  ", host.isa.empty() ? host.arch : host.isa.back(), "  uid ",
                static_cast<std::uint32_t>(geteuid()));
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::string_view names[] = {"chosen", "next", "refused", "shadowed", "skipped"};
  return names[static_cast<std::size_t>(verdict)];
}

bool Explanation::all_served() const {
  return std::all_of(
      requirements.begin(), requirements.end(), [](const ExplainedRequirement& entry) {
        return entry.served || entry.requirement.required_by.empty() || !entry.unused.empty();
      });
}

ExplainedCandidate explain_candidate(const Candidate& candidate, std::size_t index) {
  ExplainedCandidate out;
  out.index = index;
  out.file = candidate.file;
  out.tier = candidate.tier;
  out.passed = candidate.passed;
  out.probe = candidate.probe;
  out.reason = candidate.reason;
  out.text = candidate.text;
  out.title = candidate.title();
  out.verdict = verdict_of(candidate.reason);
  if (candidate.manifest) {
    out.id = candidate.manifest->id;
    out.version = candidate.manifest->version.text;
    out.support = candidate.manifest->support;
    out.priority = candidate.manifest->priority;
  }
  return out;
}

Explanation explain(const PluginSet& plugins, const std::vector<Requirement>& requirements) {
  Explanation out;
  out.core = core_line(plugins.options().core);
  out.locations = plugins.found().locations;
  out.served_keys = plugins.served_keys();
  out.warnings = plugins.warnings();
  const std::vector<Candidate> candidates = plugins.candidates();
  UnsearchedManifests unsearched(out.locations, plugins.options().trust.get());
  for (const Requirement& requirement : requirements)
    out.requirements.push_back(
        explain_requirement(plugins, candidates, out.served_keys, requirement, unsearched));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].manifest) out.unreadable.push_back(explain_candidate(candidates[i], i));
  }
  return out;
}

void add_changes(const PluginSet& plugins, Explanation& explanation) {
  const std::vector<Candidate> candidates = plugins.candidates();
  for (ExplainedRequirement& entry : explanation.requirements) {
    // The first candidate of another plugin that would be chosen.
    const auto rival_of = [&](const ExplainedCandidate& self) -> const Manifest* {
      for (const ExplainedCandidate& one : entry.candidates) {
        const bool serves = one.verdict == Verdict::chosen || one.verdict == Verdict::next;
        if (serves && one.id != self.id && one.index < candidates.size())
          return &*candidates[one.index].manifest;
      }
      return nullptr;
    };
    for (ExplainedCandidate& one : entry.candidates) {
      // added to the set after it was explained
      if (one.verdict == Verdict::chosen || one.index >= candidates.size()) continue;
      one.changes = changes_of({.options = plugins.options(),
                                .candidates = candidates,
                                .index = one.index,
                                .what = entry.requirement.what,
                                .override_id = entry.override_id,
                                .rival = rival_of(one)});
    }
  }
}

std::vector<Requirement> all_requirements(const PluginSet& plugins,
                                          std::vector<Requirement> wanted) {
  std::map<std::pair<bool, std::string>, Requirement> all;
  const auto add = [&](const std::string& what, bool device) {
    all.emplace(std::pair(device, what), Requirement{what, device, {}});
  };
  for (const Candidate& candidate : plugins.candidates()) {
    if (!candidate.manifest) continue;
    for (const ManifestKey& key : candidate.manifest->keys) {
      add(key.key, false);
      for (const std::string& alias : key.aliases) add(alias, false);
    }
    for (const ManifestDevice& device : candidate.manifest->devices) add(device.name, true);
  }
  for (Requirement& requirement : wanted) {
    Requirement& entry = all.emplace(std::pair(requirement.device, requirement.what),
                                     Requirement{requirement.what, requirement.device, {}})
                             .first->second;
    entry.required_by.insert(entry.required_by.end(), requirement.required_by.begin(),
                             requirement.required_by.end());
  }
  std::vector<Requirement> out;
  for (auto& [what, requirement] : all) out.push_back(std::move(requirement));
  return out;
}

}  // namespace gantry
