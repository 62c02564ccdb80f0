// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/trace_json.hpp"

#include "core/trace/json_writer.hpp"

namespace gantry {

std::string chrome_trace(const TraceRecorder* recorder) {
  std::string text;
  // Names come from files: bytes that are no UTF-8 are replaced, not refused.
  JsonWriter json([&](std::string_view piece) { text += piece; }, {.lines = false});
  json.begin_object();
  json.field("displayTimeUnit", "ns");
  json.key("traceEvents");
  json.begin_list();
  if (recorder != nullptr) {
    for (const TraceEvent& event : recorder->events()) {
      json.begin_object();
      json.field("name", event.name);
      json.field("cat", event.category);
      json.field("ph", "X");
      json.field("ts", static_cast<double>(event.start_ns) / 1000);
      json.field("dur", static_cast<double>(event.duration_ns) / 1000);
      json.field("pid", 1);
      json.field("tid", event.thread);
      json.end();
    }
  }
  json.end();
  json.end();
  return text;
}

}  // namespace gantry
