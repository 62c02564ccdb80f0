// SPDX-License-Identifier: Apache-2.0
//
// Recorded spans as a Chrome trace: chrome://tracing and Perfetto read it.
#pragma once

#include "core/trace/span.hpp"

#include <string>

namespace gantry {

// One JSON document, times in microseconds. recorder NULL: a trace without events.
std::string chrome_trace(const TraceRecorder* recorder);

}  // namespace gantry
