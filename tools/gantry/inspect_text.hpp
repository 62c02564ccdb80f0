// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/common/text_sink.hpp"
#include "tools/gantry/inspect_report.hpp"

namespace gantry::cli {

// Writes the report as text.
void write_inspect_text(const InspectReport& report, const InspectOptions& options,
                        const Terminal& terminal, const TextSink& sink);

}  // namespace gantry::cli
