// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/explain.hpp"

#include "core/manifest/host_traits.hpp"
#include "core/manifest/known_keys.hpp"
#include "core/plugin/compatible.hpp"

#include <unistd.h>
#include <algorithm>
#include <map>
#include <set>

namespace gantry {
namespace {

bool offers(const Manifest& manifest, const Wish& wish) {
  if (!wish.device) return manifest.key_for(wish.what) != nullptr;
  return std::any_of(manifest.devices.begin(), manifest.devices.end(),
                     [&](const ManifestDevice& device) { return device.name == wish.what; });
}

Verdict verdict_of(const Reason& why) {
  using namespace reason;
  if (why == masked || why == filtered || why == disabled) return Verdict::skipped;
  if (why == replaced_by || why == shadowed_by || why == duplicate_of) return Verdict::shadowed;
  return Verdict::refused;
}

ExplainedCandidate explained(const Candidate& candidate) {
  ExplainedCandidate out;
  out.file = candidate.file;
  out.tier = candidate.tier;
  out.state = candidate.state;
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

// What stands in a candidate's way is its own line, wherever an advice is shown.
std::string advice_for_pin(const ExplainedWish& told, const std::vector<Candidate>& candidates) {
  const std::string pinned = concat("it is pinned to plugin ", told.pin);
  std::string_view cure = ": install that one";
  for (const Candidate& candidate : candidates) {
    if (candidate.manifest && candidate.manifest->id == told.pin) {
      cure = ", which does not offer it: install a version that does";
    }
  }
  // in order of precedence
  for (const ExplainedCandidate& one : told.candidates) {
    if (one.id != told.pin) continue;
    if (one.verdict == Verdict::refused) {
      cure = ", which cannot be used: repair that one";
      break;
    }
    if (one.verdict == Verdict::skipped) {
      cure = ", which is switched off: switch that one on again";
      break;
    }
  }
  return concat(pinned, cure, ", or change plugins.pins");
}

std::string advice_for(const Wish& wish, const ExplainedWish& told,
                       const std::vector<Candidate>& candidates) {
  if (!told.pin.empty()) return advice_for_pin(told, candidates);
  // Where a candidate is there but cannot, its own reason is the advice.
  const auto refused = [](const ExplainedCandidate& one) {
    return one.verdict == Verdict::refused;
  };
  if (std::any_of(told.candidates.begin(), told.candidates.end(), refused)) return "";
  if (!told.candidates.empty()) {
    const ExplainedCandidate& first = told.candidates.front();
    return concat("plugin ", first.title, " is installed: ",
                  first.verdict == Verdict::shadowed ? "take away what stands before it"
                                                     : "switch it on again");
  }
  if (wish.device) return "install a plugin for the device";
  const KnownKey* known = find_known_key(wish.what);
  for (const std::string& near : told.near) {
    if (known && known->renamed == near) {
      return concat("the artifact was made by an older compiler, newer ones write \"", near,
                    "\" for it");
    }
  }
  if (!known) return "no plugin is known for it: ask who made the artifact which one loads it";
  if (known->plugin.empty())
    return concat("no plugin of this version serves it (", known->what, ")");
  return concat("install plugin ", known->plugin, " (", known->what, ")");
}

// The chosen one first, then those that would follow, then the rest in order of precedence.
ExplainedWish explain_wish(const PluginSet& plugins, const std::vector<Candidate>& candidates,
                           const std::vector<std::string>& served, const Wish& wish) {
  ExplainedWish out;
  out.wish = wish;
  out.pin = plugins.pin_of(wish.what);
  const std::vector<Choice> choices =
      wish.device ? plugins.choices_for_device(wish.what) : plugins.choices_for_key(wish.what);
  std::set<std::size_t> told;
  for (const Choice& choice : choices) {
    // it came after they were listed
    if (choice.candidate >= candidates.size()) continue;
    const Candidate& candidate = candidates[choice.candidate];
    ExplainedCandidate one = explained(candidate);
    if (!candidate.stopped()) {
      one.verdict = out.served ? Verdict::next : Verdict::chosen;
      out.served = true;
    }
    told.insert(choice.candidate);
    out.candidates.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (told.contains(i) || !candidate.manifest || !offers(*candidate.manifest, wish)) continue;
    ExplainedCandidate one = explained(candidate);
    if (!candidate.stopped()) {
      one.reason = reason::not_chosen;
      one.text = concat("another plugin is pinned: ", out.pin);
      one.verdict = Verdict::skipped;
    }
    out.candidates.push_back(std::move(one));
  }
  out.tie = plugins.tie_for(choices);
  if (out.served) return out;
  if (!wish.device) out.near = near_keys(wish.what, served);
  out.advice = advice_for(wish, out, candidates);
  return out;
}

std::string core_line(const gantry_host_info& core) {
  const HostTraits host = host_traits();
  return concat("core ", core.core_version ? core.core_version : "?", "  abi ", describe(core.abi),
                "  schema ", kSchemaMajor, ".", kSchemaMinor, "  ", host.libc_name, " ",
                host.libc_version, "  ", host.isa.empty() ? host.arch : host.isa.back(), "  uid ",
                static_cast<std::uint32_t>(geteuid()));
}

std::string search_line(const std::vector<SearchPlace>& places) {
  std::string text;
  for (const SearchPlace& place : places) text += concat(text.empty() ? "" : "; ", describe(place));
  return text.empty() ? "nothing" : text;
}

std::string join(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += concat(text.empty() ? "" : ", ", one);
  return text;
}

std::string pad(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

// Lines after the first stand under the text's column.
std::string indent(std::string_view text, std::string_view by) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += by;
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::string candidate_line(const ExplainedCandidate& one) {
  std::string line = concat("  ", pad(upper(name_of(one.verdict)), 9), pad(one.title, 24), " ");
  const bool serves = one.verdict == Verdict::chosen || one.verdict == Verdict::next;
  if (serves)
    return concat(line, "prio ", one.priority, "  ", name_of(one.state), "  ", one.file, "\n");
  line += concat(name_of(one.reason), "  ", indent(one.text, "           "), "\n");
  line += concat("           ", one.file, "\n");
  if (one.verdict == Verdict::refused && !one.support.empty())
    line += concat("           support: ", one.support, "\n");
  return line;
}

std::string wish_text(const ExplainedWish& told) {
  const Wish& wish = told.wish;
  std::string text =
      concat(wish.device ? "device " : "key ", pad(wish.what, 20), " ",
             wish.wanted_by.empty() ? "not wanted" : concat("wanted by ", join(wish.wanted_by)));
  if (told.candidates.empty()) text += "; no candidate";
  if (!told.pin.empty()) text += concat("; pinned to ", told.pin);
  text += "\n";
  for (const ExplainedCandidate& one : told.candidates) text += candidate_line(one);
  if (!told.tie.empty()) text += concat("  tie: ", told.tie, "\n");
  if (!told.near.empty()) text += concat("  near: ", join(told.near), "\n");
  if (!told.advice.empty()) text += concat("  advice: ", told.advice, "\n");
  if (!told.served && !wish.wanted_by.empty()) text += "  => loading would FAIL\n";
  return text;
}

// "filtered, GANTRY-D410 FILTERED: by GANTRY_DISABLE ..."
std::string candidate_clause(const ExplainedCandidate& one) {
  return concat(one.title, " is ", name_of(one.verdict), ", ", name_of(one.reason), ": ",
                indent(one.text, "    "));
}

std::string unserved_text(const ExplainedWish& told) {
  std::string text = concat(told.wish.device ? "device \"" : "\"", told.wish.what, "\"");
  if (!told.wish.wanted_by.empty()) text += concat(", wanted by ", join(told.wish.wanted_by));
  if (told.candidates.empty()) text += ": no plugin offers it";
  for (const ExplainedCandidate& one : told.candidates)
    text += concat("\n    ", candidate_clause(one));
  if (!told.near.empty()) text += concat("\n    served keys with a near name: ", join(told.near));
  if (!told.advice.empty()) text += concat("\n    ", told.advice);
  return text;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::string_view names[] = {"chosen", "next", "refused", "shadowed", "skipped"};
  return names[static_cast<std::size_t>(verdict)];
}

bool Explanation::all_served() const {
  return std::all_of(wishes.begin(), wishes.end(), [](const ExplainedWish& told) {
    return told.served || told.wish.wanted_by.empty();
  });
}

Explanation explain(const PluginSet& plugins, const std::vector<Wish>& wishes) {
  Explanation out;
  out.core = core_line(plugins.options().core);
  out.places = plugins.found().places;
  out.served_keys = plugins.served_keys();
  out.warnings = plugins.warnings();
  const std::vector<Candidate> candidates = plugins.candidates();
  for (const Wish& wish : wishes)
    out.wishes.push_back(explain_wish(plugins, candidates, out.served_keys, wish));
  for (const Candidate& candidate : candidates) {
    if (!candidate.manifest) out.unreadable.push_back(explained(candidate));
  }
  return out;
}

std::vector<Wish> all_wishes(const PluginSet& plugins, std::vector<Wish> wanted) {
  std::map<std::pair<bool, std::string>, Wish> all;
  const auto add = [&](const std::string& what, bool device) {
    all.emplace(std::pair(device, what), Wish{what, device, {}});
  };
  for (const Candidate& candidate : plugins.candidates()) {
    if (!candidate.manifest) continue;
    for (const ManifestKey& key : candidate.manifest->keys) {
      add(key.key, false);
      for (const std::string& alias : key.aliases) add(alias, false);
    }
    for (const ManifestDevice& device : candidate.manifest->devices) add(device.name, true);
  }
  for (Wish& wish : wanted) {
    Wish& told = all.emplace(std::pair(wish.device, wish.what), Wish{wish.what, wish.device, {}})
                     .first->second;
    told.wanted_by.insert(told.wanted_by.end(), wish.wanted_by.begin(), wish.wanted_by.end());
  }
  std::vector<Wish> out;
  for (auto& [what, wish] : all) out.push_back(std::move(wish));
  return out;
}

std::string to_text(const Explanation& explanation) {
  std::string text = concat(explanation.core, "\nsearch: ", search_line(explanation.places), "\n");
  for (const ExplainedWish& told : explanation.wishes) text += concat("\n", wish_text(told));
  if (!explanation.unreadable.empty()) text += "\nmanifests that offer nothing:\n";
  for (const ExplainedCandidate& one : explanation.unreadable) {
    text += concat("  ", pad(upper(name_of(one.verdict)), 9), one.file, "\n           ",
                   name_of(one.reason), "  ", indent(one.text, "           "), "\n");
  }
  for (const std::string& warning : explanation.warnings) text += concat("\nwarning: ", warning);
  return explanation.warnings.empty() ? text : text + "\n";
}

Error unserved_error(const Explanation& explanation, std::string_view subject) {
  std::vector<std::string> keys;
  for (const ExplainedWish& told : explanation.wishes) {
    if (!told.served) keys.push_back(concat("\"", told.wish.what, "\""));
  }
  Error error =
      unavailable(subject,
                  keys.size() == 1 ? " needs " : concat(" needs ", keys.size(), " things: "),
                  join(keys), ", served by no plugin")
          .because(reason::no_plugin.tag);
  for (const ExplainedWish& told : explanation.wishes) {
    if (!told.served) error.at(unserved_text(told));
  }
  for (const ExplainedCandidate& one : explanation.unreadable) {
    if (one.verdict == Verdict::refused)
      error.at("manifest that cannot be read: ", candidate_clause(one));
  }
  error.at("type keys that are served: ",
           explanation.served_keys.empty() ? "none" : join(explanation.served_keys));
  error.at("searched: ", search_line(explanation.places));
  return error;
}

}  // namespace gantry
