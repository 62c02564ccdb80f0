// SPDX-License-Identifier: Apache-2.0
//
// The report of `inspect` as text.
#pragma once

#include "core/formats/inspect/report.hpp"
#include "tools/gantry/common/import_graph.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/common/text_sink.hpp"

namespace gantry::cli {

// report   [in]   is referred to by the result
ImportGraph import_graph_of(const InspectReport& report);

// Writes the report as text.
void write_inspect_text(const InspectReport& report, const InspectOptions& options,
                        const Terminal& terminal, const TextSink& sink);

}  // namespace gantry::cli
