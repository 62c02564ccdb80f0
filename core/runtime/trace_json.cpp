// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/trace_json.hpp"

#include <nlohmann/json.hpp>

namespace gantry {

std::string chrome_trace(const TraceRecorder* recorder) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  if (recorder != nullptr) {
    for (const TraceEvent& event : recorder->events()) {
      events.push_back({{"name", event.name},
                        {"cat", event.category},
                        {"ph", "X"},
                        {"ts", static_cast<double>(event.start_ns) / 1000},
                        {"dur", static_cast<double>(event.duration_ns) / 1000},
                        {"pid", 1},
                        {"tid", event.thread}});
    }
  }
  const nlohmann::ordered_json document = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  // Names come from files: bytes that are no UTF-8 are replaced, not refused.
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace gantry
