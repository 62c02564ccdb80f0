// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/gantry/common/text_sink.hpp"
#include "tools/gantry/inspect_report.hpp"

namespace gantry::cli {

// The document of `inspect --json`. Keys are only ever added; one that does not apply is null or
// empty, never left out, but `members` and `arrays`, which only archives and arrays have.
void write_inspect_json(const InspectReport& report, const InspectOptions& options,
                        const TextSink& sink);

}  // namespace gantry::cli
