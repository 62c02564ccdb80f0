// SPDX-License-Identifier: Apache-2.0
#include "core/trace/trace_json.hpp"

#include "core/base/json_writer.hpp"

namespace gantry {
namespace {

// 12345 ns: "12.345". Spans are not negative.
std::string microseconds(std::int64_t ns) {
  const std::string decimals = std::to_string(1000 + ns % 1000);
  return std::to_string(ns / 1000).append(".").append(decimals, 1);
}

}  // namespace

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
      json.key("ts");
      json.number(microseconds(event.start_ns));
      json.key("dur");
      json.number(microseconds(event.duration_ns));
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
