// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/gantry/common/text_sink.hpp"
#include "tools/gantry/inspect_report.hpp"

namespace gantry::cli {

// Writes the document of `inspect --json`. Later versions may add keys and remove none. A key that
// does not apply is null or empty; only `members` (archives) and `arrays` (array files) are left
// out.
void write_inspect_json(const InspectReport& report, const InspectOptions& options,
                        const TextSink& sink);

}  // namespace gantry::cli
