// SPDX-License-Identifier: Apache-2.0
//
// Writes recorded spans as a Chrome trace, the format of chrome://tracing and Perfetto.
#pragma once

#include "core/base/trace/span.hpp"

#include <string>

namespace gantry {

// Returns a JSON document with times in microseconds; without events if `recorder` is NULL.
std::string chrome_trace(const TraceRecorder* recorder);

}  // namespace gantry
