// SPDX-License-Identifier: Apache-2.0
//
// The JSON of explanations and static checks, for `plugins doctor`, `plugins explain` and `plugins
// check`. Each write function writes the members of one object.
#pragma once

#include "core/base/json_writer.hpp"
#include "core/plugins/choice/explain.hpp"
#include "tools/conformance/static/check.hpp"

namespace gantry::cli {

// The last step that a candidate has passed, and why it has not passed the next one.
void write_state(const ExplainedCandidate& candidate, JsonWriter& json);
void write_candidate(const ExplainedCandidate& candidate, JsonWriter& json);
void write_location(const SearchLocation& location, JsonWriter& json);
void write_requirement(const ExplainedRequirement& requirement, JsonWriter& json);
void write_finding(const CheckFinding& finding, JsonWriter& json);

}  // namespace gantry::cli
