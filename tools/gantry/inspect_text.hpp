// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/inspect_report.hpp"

#include <string>

namespace gantry::cli {

// What `inspect` prints for people.
std::string inspect_text(const InspectReport& report, const Terminal& terminal);

}  // namespace gantry::cli
