// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/explanation_json.hpp"

#include "core/base/json_document.hpp"

namespace gantry::cli {

void write_state(const ExplainedCandidate& candidate, JsonWriter& json) {
  json.field("state", name_of(candidate.passed));
  json.field("reason", candidate.reason ? std::optional(name_of(candidate.reason)) : std::nullopt);
  json.field("text", text_or_null(candidate.text));
}

void write_candidate(const ExplainedCandidate& candidate, JsonWriter& json) {
  json.field("verdict", name_of(candidate.verdict));
  json.field("id", text_or_null(candidate.id));
  json.field("version", text_or_null(candidate.version));
  json.field("manifest", json_text(candidate.file));
  json.field("tier", number_of(candidate.tier));
  json.field("priority", candidate.priority);
  write_state(candidate, json);
  if (candidate.probe) {
    json.begin_object("probe");
    json.field("elapsed_ms", candidate.probe->elapsed_ms);
    json.field("cached_s", candidate.probe->age_s);
    json.end();
  } else {
    json.field("probe", nullptr);
  }
  json.field("older_than", text_or_null(candidate.newer));
  json.field("support", text_or_null(candidate.support));
  write_texts("would_be_chosen_if", candidate.changes, json);
}

void write_location(const SearchLocation& location, JsonWriter& json) {
  json.field("tier", number_of(location.tier));
  json.field("location", json_text(location.name));
  json.field("text", text_or_null(describe(location)));
  write_texts("files", location.files, json);
}

void write_requirement(const ExplainedRequirement& requirement, JsonWriter& json) {
  json.field("what", json_text(requirement.requirement.what));
  json.field("kind", requirement.requirement.device ? "device" : "key");
  write_texts("required_by", requirement.requirement.required_by, json);
  json.field("served", requirement.served);
  json.field("override", text_or_null(requirement.override_id));
  write_objects("candidates", requirement.candidates, json, write_candidate);
  write_texts("near", requirement.near, json);
  write_texts("unsearched", requirement.unsearched, json);
  json.field("advice", text_or_null(requirement.advice));
  json.field("tie", text_or_null(requirement.tie));
  json.field("unused", text_or_null(requirement.unused));
}

void write_finding(const CheckFinding& finding, JsonWriter& json) {
  json.field("case", finding.number);
  json.field("name", finding.name);
  json.field("must", finding.must);
  json.field("outcome", name_of(finding.outcome));
  json.field("text", text_or_null(finding.text));
}

}  // namespace gantry::cli
