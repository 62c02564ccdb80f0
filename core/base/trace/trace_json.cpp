// SPDX-License-Identifier: Apache-2.0
#include "core/base/trace/trace_json.hpp"

#include "core/base/json_writer.hpp"

namespace gantry {
namespace {

// "12.345" for 12345 ns. Precondition: ns >= 0.
std::string microseconds(std::int64_t ns) {
  const std::string decimals = std::to_string(1000 + ns % 1000);
  return std::to_string(ns / 1000).append(".").append(decimals, 1);
}

}  // namespace

std::string chrome_trace(const TraceRecorder* recorder) {
  std::string text;
  // Names may come from files; JsonWriter replaces bytes that are not UTF-8.
  JsonWriter json([&](std::string_view piece) { text += piece; }, {.lines = false});
  json.begin_object();
  json.field("displayTimeUnit", "ns");
  json.begin_list("traceEvents");
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
