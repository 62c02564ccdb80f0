// SPDX-License-Identifier: Apache-2.0
//
// Writes a trace in the JSON format that chrome://tracing and Perfetto read. Threads of this process
// are process 1, each other group of tracks is a process with the group's name.
#pragma once

#include <string>

namespace gantry {

class TraceRecorder;

// Returns a JSON document in UTF-8 with times in microseconds.
//
// recorder [in]   NULL: no events
std::string chrome_trace(const TraceRecorder* recorder);

}  // namespace gantry
