// SPDX-License-Identifier: Apache-2.0
//
// The texts of an explanation: the output of `gantry plugins doctor` and the error of a failed load.
#include "core/base/text.hpp"
#include "core/plugins/choice/explain.hpp"

#include <gantry/join.hpp>

#include <algorithm>

namespace gantry {
namespace {

std::string search_line(const std::vector<SearchLocation>& locations) {
  const auto text_of = [](const SearchLocation& location) { return describe(location); };
  return locations.empty() ? "nothing" : join(locations, "; ", text_of);
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
  for (const std::string& one : entry.unsearched) text += text_line("  not searched: ", one);
  if (!entry.advice.empty()) text += text_line("  advice: ", entry.advice);
  if (!entry.served && !requirement.required_by.empty()) {
    text += entry.unused.empty()
                ? text_line("  => loading would FAIL")
                : text_line("  => a load leaves the modules out, because ", entry.unused);
  }
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
  for (const std::string& one : entry.unsearched) text.at("  not searched: ", one);
  if (!entry.advice.empty()) text.at("  ", entry.advice);
  return text;
}

}  // namespace

std::string to_text(const ExplainedCandidate& one) {
  const Message head("  ", pad(upper(name_of(one.verdict)), 9), pad(one.title, 24), " ");
  const bool serves = one.verdict == Verdict::chosen || one.verdict == Verdict::next;
  const auto reason_text = [&] {
    return Message(name_of(one.reason), "  ", indent(one.text, margin));
  };
  if (serves) {
    std::string text = text_line(head, "prio ", one.priority, "  ", name_of(one.passed), "  ",
                                 one.file, probe_text(one.probe));
    if (one.reason) text += text_line(margin, reason_text());
    if (!one.newer.empty())
      text += text_line(margin, "older than ", one.newer, ", which it shadows");
    return text + changes_line(one);
  }
  std::string text = text_line(head, reason_text());
  text += text_line(margin, one.file);
  if (one.verdict == Verdict::refused && !one.support.empty())
    text += text_line(margin, "support: ", one.support);
  return text + changes_line(one);
}

std::string to_text(const Explanation& explanation) {
  std::string text = text_line(explanation.core) + text_line("searched:");
  for (const SearchLocation& location : explanation.locations)
    text += text_line("  ", describe(location));
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
  const bool only_vendors = std::ranges::all_of(
      explanation.requirements,
      [](const ExplainedRequirement& entry) { return entry.served || entry.is_vendors; });
  Error error = fail(only_vendors && !keys.empty() ? Code::unsupported : Code::unavailable, subject,
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
