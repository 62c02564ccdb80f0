// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/payload_report.hpp"

#include "core/base/json_document.hpp"
#include "tools/gantry/common/escape.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace gantry::cli {
namespace {

std::string word_of(const PayloadCheck& check) {
  if (check.verdict.ok()) return upper(name_of_verdict(*check.verdict));
  return check.verdict.error().code == Code::unsupported ? "UNKNOWN" : "FAILED";
}

void write_check(const PayloadCheck& check, JsonWriter& json) {
  const bool ok = check.verdict.ok();
  json.field("location", json_text(check.location));
  json.field("plugin", text_or_null(check.plugin));
  json.field("device", text_or_null(check.device));
  json.field("unused", check.is_unused);
  json.field("verdict", ok ? std::optional(name_of_verdict(*check.verdict)) : std::nullopt);
  json.field("text", ok ? std::nullopt : std::optional(json_text(check.verdict.error().message)));
}

}  // namespace

bool all_run(const std::vector<PayloadCheck>& checks) {
  std::map<std::size_t, bool> runs;
  for (const PayloadCheck& check : checks) {
    if (check.is_unused) continue;
    const bool may_run = check.verdict.ok() ? *check.verdict != GANTRY_VERDICT_NO
                                            : check.verdict.error().code == Code::unsupported;
    bool& on_any = runs[check.entry];
    on_any = on_any || may_run;
  }
  return std::all_of(runs.begin(), runs.end(), [](const auto& entry) { return entry.second; });
}

std::string payload_checks_text(const std::vector<PayloadCheck>& checks) {
  std::string text = "\npayloads\n";
  for (const PayloadCheck& check : checks) {
    text += text_line("  ", pad(word_of(check), 10), check.location,
                      check.device.empty() ? "" : " on ", check.device, ", plugin ", check.plugin);
    if (check.verdict.ok()) continue;
    constexpr std::string_view margin = "             ";
    text += text_line(margin, indent(check.verdict.error().message, margin));
  }
  if (checks.empty()) text += text_line("  none that an installed plugin serves");
  return all_run(checks) ? text : text + text_line("  => loading would FAIL");
}

void write_payload_checks(const std::optional<std::vector<PayloadCheck>>& checks,
                          JsonWriter& json) {
  if (checks) return write_objects("payloads", *checks, json, write_check);
  json.field("payloads", nullptr);
}

}  // namespace gantry::cli
