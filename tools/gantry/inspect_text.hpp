// SPDX-License-Identifier: Apache-2.0
//
// The report of `inspect` as text.
#pragma once

#include "core/formats/inspect/report.hpp"
#include "tools/gantry/common/import_graph.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/common/text_sink.hpp"

#include <functional>
#include <string_view>

namespace gantry::cli {

// report   [in]   is referred to by the result
ImportGraph import_graph_of(const InspectReport& report);

// Writes the parts of a report that are only those of a directory of weights.
//
// field    [in]   writes a line: name and value
// section  [in]   writes the title of a table
void write_weights_text(const WeightDirectory& weights,
                        const std::function<void(std::string_view, std::string_view)>& field,
                        const std::function<void(const Message&)>& section,
                        const Terminal& terminal, const TextSink& sink);

// Writes the report as text.
void write_inspect_text(const InspectReport& report, const InspectOptions& options,
                        const Terminal& terminal, const TextSink& sink);

}  // namespace gantry::cli
