// SPDX-License-Identifier: Apache-2.0
//
// The forms of a report.
#pragma once

#include "tools/conformance/results.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace gantry::kit {

// One case, as the text report lists it, with its line break.
std::string case_text(const CaseResult& result);
// The end of the text report: totals and level.
std::string totals_text(const Results& results);
// The table of cases for --list.
std::string list_text(std::span<const Case> cases);
std::string junit_text(const Results& results);
std::string json_text_of(const Results& results);
// The plugin's digest, the versions, the level and a digest of the results.
std::string stamp_text(const Results& results);

// Replaces a file atomically.
Status write_report(const std::string& path, const std::string& text);

}  // namespace gantry::kit
