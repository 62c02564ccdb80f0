// SPDX-License-Identifier: Apache-2.0
//
// source   "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#include "core/base/trace/chrome_trace.hpp"

#include "core/base/json_writer.hpp"
#include "core/base/trace/span.hpp"

#include <gantry/concat.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gantry {
namespace {

// "12.345" for 12345 ns. Precondition: ns >= 0.
std::string microseconds(std::int64_t ns) {
  const std::string decimals = std::to_string(1000 + ns % 1000);
  return std::to_string(ns / 1000).append(".").append(decimals, 1);
}

// Numbers of processes in the document, by group.
class Groups {
 public:
  Groups() { numbers_.emplace("", 1); }

  std::uint64_t number_of(const std::string& group) {
    return numbers_.try_emplace(group, numbers_.size() + 1).first->second;
  }
  const std::map<std::string, std::uint64_t>& all() const { return numbers_; }

 private:
  std::map<std::string, std::uint64_t> numbers_;
};

// Perfetto hides thread 0, the idle one of a kernel.
std::uint64_t thread_number(std::uint64_t track) { return track + 1; }

// track    [in]   nullopt: of the whole group
void write_name(JsonWriter& json, std::string_view what, std::uint64_t group,
                std::optional<std::uint64_t> track, std::string_view name) {
  json.begin_object();
  json.field("name", what);
  json.field("cat", "__metadata");
  json.field("ph", "M");
  json.field("pid", group);
  if (track) json.field("tid", thread_number(*track));
  json.begin_object("args");
  json.field("name", name);
  json.end();
  json.end();
}

std::string text_of(gantry_device_id device) {
  const std::string_view name = dlpack_name(device.type);
  return concat(name.empty() ? concat("device ", device.type) : std::string(name), ":",
                device.index);
}

std::span<const std::int64_t> extents_of(const TraceTensor& tensor) {
  const auto count = static_cast<std::size_t>(std::max(tensor.ndim, 0));
  return std::span(tensor.shape).first(std::min(count, TraceTensor::max_dimensions));
}

// "float32[1, 64] on opencl:0"
std::string text_of(const TraceTensor& tensor) {
  std::string type = type_text(tensor.dtype, extents_of(tensor));
  if (extents_of(tensor).size() < static_cast<std::size_t>(std::max(tensor.ndim, 0)))
    type.insert(type.size() - 1, ", ...");
  return concat(type, " on ", text_of(tensor.device));
}

// Of a compact tensor; 0: not known.
std::uint64_t bytes_of(const TraceTensor& tensor) {
  if (tensor.ndim < 0 || extents_of(tensor).size() != static_cast<std::size_t>(tensor.ndim))
    return 0;
  const auto bytes = tensor_bytes(extents_of(tensor), tensor.dtype);
  return bytes.ok() ? *bytes : 0;
}

void write_argument(JsonWriter& json, const TraceArgument& argument) {
  json.key(argument.name);
  if (const auto* const tensor = std::get_if<TraceTensor>(&argument.value)) {
    json.value(text_of(*tensor));
    return;
  }
  if (const auto* const number = std::get_if<double>(&argument.value)) {
    // JSON has no other numbers.
    std::isfinite(*number) ? json.value(*number) : json.value(std::to_string(*number));
    return;
  }
  const auto write = [&](const auto& value) {
    if constexpr (!std::is_same_v<decltype(value), const TraceTensor&>) json.value(value);
  };
  std::visit(write, argument.value);
}

using Written = std::map<std::string_view, const TraceArgument*>;

// Writes what viewers sum and group by: the bytes of all tensors, and the device of the last one, because the
// outputs of a call follow its inputs.
void write_totals(JsonWriter& json, const TraceEvent& event, const Written& written) {
  const TraceTensor* last = nullptr;
  std::uint64_t bytes = 0;
  for (const TraceArgument& argument : event.arguments) {
    const auto* const tensor = std::get_if<TraceTensor>(&argument.value);
    if (tensor == nullptr) continue;
    last = tensor;
    const std::uint64_t own = bytes_of(*tensor);
    bytes = own > UINT64_MAX - bytes ? UINT64_MAX : bytes + own;
  }
  if (last == nullptr) return;
  if (!written.contains("bytes")) json.field("bytes", bytes);
  if (!written.contains("device")) json.field("device", text_of(last->device));
}

void write_arguments(JsonWriter& json, const TraceEvent& event) {
  if (event.arguments.empty()) return;
  json.begin_object("args");
  // A member of an object is written once.
  Written written;
  for (const TraceArgument& argument : event.arguments) {
    if (written.emplace(argument.name, &argument).second) write_argument(json, argument);
  }
  write_totals(json, event, written);
  json.end();
}

}  // namespace

std::string chrome_trace(const TraceRecorder* recorder) {
  std::string text;
  // JsonWriter replaces bytes of names that are not UTF-8.
  JsonWriter json([&](std::string_view piece) { text += piece; }, {.lines = false});
  json.begin_object();
  json.field("displayTimeUnit", "ns");
  json.begin_list("traceEvents");
  if (recorder != nullptr) {
    Groups groups;
    const std::vector<TraceEvent> events = recorder->events();
    const std::vector<TraceCounterValue> counters = recorder->counters();
    // after the events, so that the track of each of them is known
    const std::vector<TraceTrack> tracks = recorder->tracks();
    for (const TraceEvent& event : events) {
      json.begin_object();
      json.field("name", event.name);
      json.field("cat", event.category);
      json.field("ph", "X");
      json.key("ts");
      json.number(microseconds(event.start_ns));
      json.key("dur");
      json.number(microseconds(event.duration_ns));
      json.field("pid", groups.number_of(tracks[event.track].group));
      json.field("tid", thread_number(event.track));
      write_arguments(json, event);
      json.end();
    }
    for (const TraceCounterValue& counter : counters) {
      json.begin_object();
      json.field("name", counter.name);
      json.field("cat", "counter");
      json.field("ph", "C");
      json.key("ts");
      json.number(microseconds(counter.time_ns));
      json.field("pid", groups.number_of(counter.group));
      json.begin_object("args");
      json.field("value", counter.value);
      json.end();
      json.end();
    }
    for (std::size_t i = 0; i < tracks.size(); ++i)
      write_name(json, "thread_name", groups.number_of(tracks[i].group), i, tracks[i].name);
    for (const auto& [group, number] : groups.all())
      write_name(json, "process_name", number, {}, group.empty() ? "gantry" : group);
  }
  json.end();
  if (recorder != nullptr && recorder->dropped() != 0) {
    json.begin_object("otherData");
    json.field("dropped", recorder->dropped());
    json.end();
  }
  json.end();
  return text;
}

}  // namespace gantry
