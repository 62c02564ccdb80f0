// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/report.hpp"

#include "core/base/atomic_file.hpp"
#include "core/base/digest/digest.hpp"
#include "core/base/escape.hpp"
#include "core/base/json_document.hpp"
#include "core/base/replace_file.hpp"
#include "core/base/text.hpp"

#include <gantry/embed.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace gantry::kit {
namespace {

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", seconds);
  return text;
}

std::string indented(std::string_view text, std::string_view by) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += by;
  }
  return out;
}

std::string label(const Case& each) { return concat(each.number, " ", each.name); }

void write_case(const CaseResult& result, JsonWriter& json) {
  const Case& each = *result.which;
  json.field("case", each.number);
  json.field("name", each.name);
  json.field("level", std::string(1, letter_of(each.level)));
  json.field("weight", name_of(each.weight));
  json.field("state", name_of(result.state));
  json.field("text", json_text(result.text));
  if (result.state == State::failed) json.field("change", json_text(result.advice()));
  if (result.same_as != 0) json.field("same_as", result.same_as);
  json.key("seconds");
  json.number(seconds_text(result.seconds));
}

// Of the states, without times, so that equal results have equal digests.
std::string results_digest(const Results& results) {
  std::string states;
  for (const CaseResult& each : results.cases)
    states += concat(each.which->number, " ", name_of(each.state), "\n");
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(states.data());
  return hex_text(sha256({bytes, states.size()}));
}

void write_plugin(const Results& results, JsonWriter& json) {
  json.field("plugin", json_text(results.plugin));
  json.field("sha256", results.sha256);
  json.field("kit_version", core_version());
  json.field("abi_minor", results.abi_minor);
}

}  // namespace

std::string case_text(const CaseResult& result) {
  const Case& each = *result.which;
  const bool warns = result.state == State::failed && each.weight == Weight::should;
  const std::string state = result.state == State::failed ? (warns ? "WARNING" : "FAILED")
                                                          : std::string(name_of(result.state));
  std::string text = concat(pad(state, 8), pad(std::to_string(each.number), 3), " ",
                            std::string(1, letter_of(each.level)), "  ", each.name);
  if (result.state == State::skipped || result.state == State::not_run)
    text += ": " + indented(result.text, "  ");
  if (result.same_as != 0) return text + concat(": as case ", result.same_as, "\n");
  text += "\n";
  if (result.state != State::failed) return text;
  text += "    found:  " + indented(result.text, "            ") + "\n";
  return text + concat("    change: ", result.advice(), "\n");
}

std::string totals_text(const Results& results) {
  std::size_t warnings = 0;
  for (const CaseResult& each : results.cases)
    warnings += each.state == State::failed && !each.is_failure() ? 1 : 0;
  const std::size_t failed = results.count(State::failed) - warnings;
  return concat("\n", results.cases.size(), " cases: ", results.count(State::passed), " passed, ",
                failed, " failed, ", warnings, " warnings, ", results.skipped(),
                " skipped\nlevel: ", results.level(), "\n", results.missing());
}

std::string list_text(std::span<const Case> cases) {
  std::string text;
  const auto column = [&](std::string_view value, std::size_t width) {
    text.append(value).append(width - std::min(width, value.size()), ' ');
  };
  for (const Case& each : cases) {
    column(std::to_string(each.number), 4);
    column(std::string(1, letter_of(each.level)), 3);
    column(name_of(each.weight), 8);
    column(each.name, 28);
    text.append("  ").append(each.checks).append("\n");
  }
  return text;
}

std::string junit_text(const Results& results) {
  double seconds = 0;
  for (const CaseResult& each : results.cases) seconds += each.seconds;
  std::size_t failures = 0;
  for (const CaseResult& each : results.cases) failures += each.is_failure() ? 1 : 0;
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += concat("<testsuite name=\"", markup_text(results.plugin), "\" tests=\"",
                 results.cases.size(), "\" failures=\"", failures, "\" errors=\"0\" skipped=\"",
                 results.skipped(), "\" time=\"", seconds_text(seconds), "\">\n");
  text += concat("  <properties><property name=\"seed\" value=\"", results.seed,
                 "\"/><property name=\"level\" value=\"", results.level(), "\"/></properties>\n");
  for (const CaseResult& each : results.cases) {
    text += concat("  <testcase classname=\"gantry-conformance.",
                   std::string(1, letter_of(each.which->level)), "\" name=\"",
                   markup_text(label(*each.which)), "\" time=\"", seconds_text(each.seconds), "\"");
    if (each.state == State::passed) {
      text += "/>\n";
    } else if (each.state != State::failed) {
      text += concat("><skipped message=\"", markup_text(each.text), "\"/></testcase>\n");
    } else if (each.is_failure()) {
      text += concat("><failure message=\"", markup_text(each.text), "\">",
                     markup_text(each.advice()), "</failure></testcase>\n");
    } else {
      text +=
          concat("><system-out>warning: ", markup_text(each.text), "</system-out></testcase>\n");
    }
  }
  return text + "</testsuite>\n";
}

std::string json_text_of(const Results& results) {
  return json_document([&](JsonWriter& json) {
    json.field("manifest", json_text(results.manifest_file));
    json.field("library", json_text(results.library));
    write_plugin(results, json);
    json.field("seed", results.seed);
    json.field("level", results.level());
    json.field("passed", results.count(State::passed));
    json.field("failed", results.count(State::failed));
    json.field("skipped", results.skipped());
    write_objects("cases", results.cases, json, write_case);
  });
}

std::string stamp_text(const Results& results) {
  return json_document([&](JsonWriter& json) {
    write_plugin(results, json);
    json.field("level", results.level());
    json.field("results_sha256", results_digest(results));
  });
}

Status write_report(const std::string& path, const std::string& text) {
  GANTRY_TRY(AtomicFile file, AtomicFile::beside(path, {}));
  if (std::fwrite(text.data(), 1, text.size(), file.stream()) != text.size())
    return cannot_write(path, errno);
  return file.commit();
}

}  // namespace gantry::kit
