// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/explain.hpp"

#include "core/base/text.hpp"
#include "core/manifest/host_traits.hpp"
#include "core/manifest/known_keys.hpp"
#include "core/plugin/compatible.hpp"
#include "core/plugin/replaced_manifests.hpp"

#include <gantry/join.hpp>

#include <unistd.h>
#include <algorithm>
#include <map>
#include <set>

namespace gantry {
namespace {

bool offers(const Manifest& manifest, const Requirement& requirement) {
  if (!requirement.device) return manifest.key_for(requirement.what) != nullptr;
  return std::any_of(manifest.devices.begin(), manifest.devices.end(),
                     [&](const ManifestDevice& device) { return device.name == requirement.what; });
}

Verdict verdict_of(const Reason& why) {
  using namespace reason;
  if (why == masked || why == filtered || why == disabled) return Verdict::skipped;
  if (why == replaced_by || why == shadowed_by || why == duplicate_of) return Verdict::shadowed;
  return Verdict::refused;
}

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
  if (!entry.replaced.empty()) return "";
  if (requirement.device) return "install a plugin for the device";
  const KnownKey* known = find_known_key(requirement.what);
  for (const std::string& near : entry.near) {
    if (known && known->renamed == near) {
      return concat("the artifact was built by an older compiler, newer ones use the key \"", near,
                    "\"");
    }
  }
  if (!known) return "no known plugin serves it: obtain one from the producer of the artifact";
  if (known->plugin.empty())
    return concat("no plugin of this version serves it (", known->what, ")");
  return concat("install plugin ", known->plugin, " (", known->what, ")");
}

// A plugin in use serves its keys from memory, whatever happens to its file.
void add_stale_file(const PluginSet& plugins, const Candidate& candidate, ExplainedCandidate& one) {
  const OpenedPlugins* const opened = plugins.options().opened;
  if (opened == nullptr || candidate.state != CandidateState::active) return;
  const Status same = opened->check_opened(*candidate.manifest);
  if (same.ok()) return;
  one.reason = reason_of(same.error());
  one.text = same.error().message;
}

// Lists the chosen candidate first, then the next ones, then the others in order of precedence.
ExplainedRequirement explain_requirement(const PluginSet& plugins,
                                         const std::vector<Candidate>& candidates,
                                         const std::vector<std::string>& served,
                                         const Requirement& requirement,
                                         ReplacedManifests& replaced) {
  ExplainedRequirement out;
  out.requirement = requirement;
  out.override_id = plugins.override_of(requirement.what);
  const std::vector<Choice> choices = requirement.device
                                          ? plugins.choices_for_device(requirement.what)
                                          : plugins.choices_for_key(requirement.what);
  std::set<std::size_t> listed;
  for (const Choice& choice : choices) {
    // added after `candidates` was created
    if (choice.candidate >= candidates.size()) continue;
    const Candidate& candidate = candidates[choice.candidate];
    ExplainedCandidate one = explain_candidate(candidate, choice.candidate);
    if (!candidate.stopped()) {
      one.verdict = out.served ? Verdict::next : Verdict::chosen;
      out.served = true;
      add_stale_file(plugins, candidate, one);
    }
    listed.insert(choice.candidate);
    out.candidates.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (listed.contains(i) || !candidate.manifest || !offers(*candidate.manifest, requirement))
      continue;
    ExplainedCandidate one = explain_candidate(candidate, i);
    if (!candidate.stopped()) {
      one.reason = reason::not_chosen;
      one.text = Message("the override is another plugin: ", out.override_id);
      one.verdict = Verdict::skipped;
    }
    out.candidates.push_back(std::move(one));
  }
  out.tie = plugins.tie_for(choices);
  if (out.served) return out;
  if (!requirement.device) out.near = near_keys(requirement.what, served);
  for (const Manifest& manifest : replaced.all()) {
    if (offers(manifest, requirement))
      out.replaced.push_back(concat(manifest.title(), " of ", manifest.file));
  }
  out.advice = advice_for(requirement, out, candidates);
  return out;
}

std::string core_line(const gantry_host_info& core) {
  const HostTraits host = host_traits();
  return concat("core ", core.core_version ? core.core_version : "?", "  abi ", describe(core.abi),
                "  schema ", kSchemaMajor, ".", kSchemaMinor, "  ", host.libc_name, " ",
                host.libc_version, "  ", host.isa.empty() ? host.arch : host.isa.back(), "  uid ",
                static_cast<std::uint32_t>(geteuid()));
}

std::string search_line(const std::vector<SearchLocation>& locations) {
  const auto text_of = [](const SearchLocation& location) { return describe(location); };
  return locations.empty() ? "nothing" : join(locations, "; ", text_of);
}

std::string replaced_text(const ExplainedRequirement& entry) {
  constexpr std::size_t max = 5;
  return concat("GANTRY_PLUGIN_FILES replaces tiers 4 to 9, which offer it: ",
                join(entry.replaced, ", ", {}, max),
                "; unset the variable, or use GANTRY_ADD_PLUGIN_FILES");
}

// A file may have thousands of modules of one type key.
std::string required_by_text(const Requirement& requirement) {
  constexpr std::size_t max = 8;
  return concat("required by ", join(requirement.required_by, ", ", {}, max));
}

constexpr std::string_view margin = "           ";

std::string changes_text(const ExplainedCandidate& one) {
  return one.changes.empty() ? "" : concat("would be chosen if: ", join(one.changes, "; and "));
}

std::string changes_line(const ExplainedCandidate& one) {
  return one.changes.empty() ? "" : text_line(margin, changes_text(one));
}

// "3 min"
std::string age_text(std::uint64_t seconds) {
  constexpr std::uint64_t minute = 60, hour = 60 * minute, day = 24 * hour;
  if (seconds < 2 * minute) return concat(seconds, " s");
  if (seconds < 2 * hour) return concat(seconds / minute, " min");
  return seconds < 2 * day ? concat(seconds / hour, " h") : concat(seconds / day, " d");
}

// "  probe 412 ms (cached 3 min)"; empty if it was not probed.
std::string probe_text(const std::optional<ProbeNote>& probe) {
  if (!probe) return "";
  return concat("  probe ", probe->elapsed_ms, " ms",
                probe->age_s ? concat(" (cached ", age_text(*probe->age_s), ")") : "");
}

std::string requirement_text(const ExplainedRequirement& entry) {
  const Requirement& requirement = entry.requirement;
  Message head(requirement.device ? "device " : "key ", pad(requirement.what, 20), " ",
               requirement.required_by.empty() ? "not required" : required_by_text(requirement));
  if (entry.candidates.empty()) head.append({"; no candidate"});
  if (!entry.override_id.empty()) head.append({"; override: ", entry.override_id});
  std::string text = text_line(head);
  for (const ExplainedCandidate& one : entry.candidates) text += to_text(one);
  if (!entry.tie.empty()) text += text_line("  tie: ", entry.tie);
  if (!entry.near.empty()) text += text_line("  near: ", join(entry.near));
  if (!entry.replaced.empty()) text += text_line("  ", replaced_text(entry));
  if (!entry.advice.empty()) text += text_line("  advice: ", entry.advice);
  if (!entry.served && !requirement.required_by.empty())
    text += text_line("  => loading would FAIL");
  return text;
}

// "filtered, GANTRY-D410 FILTERED: by GANTRY_DISABLE ..."
Message candidate_clause(const ExplainedCandidate& one) {
  return Message(one.title, " is ", name_of(one.verdict), ", ", name_of(one.reason), ": ",
                 indent(one.text, "    "));
}

Message unserved_text(const ExplainedRequirement& entry) {
  Message text(entry.requirement.device ? "device \"" : "\"", entry.requirement.what, "\"");
  if (!entry.requirement.required_by.empty())
    text.append({", ", required_by_text(entry.requirement)});
  if (entry.candidates.empty()) text.append({": no plugin offers it"});
  for (const ExplainedCandidate& one : entry.candidates) {
    text.at("  ", candidate_clause(one));
    if (const std::string changes = changes_text(one); !changes.empty()) text.at("    ", changes);
  }
  if (!entry.near.empty()) text.at("  served keys with a near name: ", join(entry.near));
  if (!entry.replaced.empty()) text.at("  ", replaced_text(entry));
  if (!entry.advice.empty()) text.at("  ", entry.advice);
  return text;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::string_view names[] = {"chosen", "next", "refused", "shadowed", "skipped"};
  return names[static_cast<std::size_t>(verdict)];
}

bool Explanation::all_served() const {
  return std::all_of(requirements.begin(), requirements.end(),
                     [](const ExplainedRequirement& entry) {
                       return entry.served || entry.requirement.required_by.empty();
                     });
}

ExplainedCandidate explain_candidate(const Candidate& candidate, std::size_t index) {
  ExplainedCandidate out;
  out.index = index;
  out.file = candidate.file;
  out.tier = candidate.tier;
  out.state = candidate.state;
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
  ReplacedManifests replaced(out.locations);
  for (const Requirement& requirement : requirements)
    out.requirements.push_back(
        explain_requirement(plugins, candidates, out.served_keys, requirement, replaced));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].manifest) out.unreadable.push_back(explain_candidate(candidates[i], i));
  }
  return out;
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

std::string to_text(const ExplainedCandidate& one) {
  const Message head("  ", pad(upper(name_of(one.verdict)), 9), pad(one.title, 24), " ");
  const bool serves = one.verdict == Verdict::chosen || one.verdict == Verdict::next;
  const auto reason_text = [&] {
    return Message(name_of(one.reason), "  ", indent(one.text, margin));
  };
  if (serves) {
    std::string text = text_line(head, "prio ", one.priority, "  ", name_of(one.state), "  ",
                                 one.file, probe_text(one.probe));
    if (one.reason) text += text_line(margin, reason_text());
    return text + changes_line(one);
  }
  std::string text = text_line(head, reason_text());
  text += text_line(margin, one.file);
  if (one.verdict == Verdict::refused && !one.support.empty())
    text += text_line(margin, "support: ", one.support);
  return text + changes_line(one);
}

std::string to_text(const Explanation& explanation) {
  std::string text =
      text_line(explanation.core) + text_line("search: ", search_line(explanation.locations));
  if (const std::string none = no_manifest_text(explanation.locations); !none.empty())
    text += text_line(none);
  for (const ExplainedRequirement& entry : explanation.requirements)
    text += "\n" + requirement_text(entry);
  if (!explanation.unreadable.empty()) text += "\nmanifests that offer nothing:\n";
  for (const ExplainedCandidate& one : explanation.unreadable) {
    text += text_line("  ", pad(upper(name_of(one.verdict)), 9), one.file);
    text += text_line(margin, name_of(one.reason), "  ", indent(one.text, margin));
  }
  if (!explanation.warnings.empty()) text += "\n";
  for (const Message& warning : explanation.warnings) text += text_line("warning: ", warning);
  return text;
}

Error unserved_error(const Explanation& explanation, std::string_view subject) {
  std::vector<std::string> keys;
  for (const ExplainedRequirement& entry : explanation.requirements) {
    if (!entry.served) keys.push_back(concat("\"", entry.requirement.what, "\""));
  }
  Error error =
      unavailable(subject,
                  keys.size() == 1 ? " needs " : concat(" needs ", keys.size(), " things: "),
                  join(keys), ", served by no plugin")
          .with_reason(reason::no_plugin.tag);
  for (const ExplainedRequirement& entry : explanation.requirements) {
    if (!entry.served) error.at(unserved_text(entry));
  }
  for (const ExplainedCandidate& one : explanation.unreadable) {
    if (one.verdict == Verdict::refused)
      error.at("manifest that cannot be read: ", candidate_clause(one));
  }
  error.at("type keys that are served: ",
           explanation.served_keys.empty() ? "none" : join(explanation.served_keys));
  error.at("searched: ", search_line(explanation.locations));
  if (const std::string none = no_manifest_text(explanation.locations); !none.empty())
    error.at(none);
  return error;
}

}  // namespace gantry
