// SPDX-License-Identifier: Apache-2.0
//
// Case 115: spans that a plugin records on tracks of its device.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/golden_call.hpp"

#include "core/base/trace/span.hpp"

#include <gantry/quoted.hpp>

#include <chrono>
#include <span>
#include <thread>

namespace gantry::kit {
namespace {

// In which work that has ended may still be recorded, against the rule.
constexpr std::chrono::milliseconds kWait{20};

// Spans of a recorder that are on tracks of devices, from a position on.
std::vector<TraceEvent> device_spans(const TraceRecorder& trace, std::size_t from) {
  std::vector<TraceEvent> found;
  const std::vector<TraceEvent> events = trace.events();
  const std::vector<TraceTrack> tracks = trace.tracks();
  for (const TraceEvent& event : std::span(events).subspan(from))
    if (!tracks[event.track].group.empty()) found.push_back(event);
  return found;
}

// Makes a golden call, and checks the spans that are recorded until its stream is synchronized.
//
// returns  the number of spans
Result<std::size_t> check_call(const Stage& stage, const Device& device, const LoadedModule& module,
                               const GoldenCall& call) {
  const TraceRecorder& trace = *stage.state().trace;
  GANTRY_TRY(const LoadedFunction function, stage.function(module, call.function));
  GANTRY_TRY(const auto arguments, CallArguments::make(device, call));
  const std::size_t before = trace.events().size();
  const std::int64_t begun = trace.now_ns();
  const CallOutcome outcome =
      call_function(device, function.pair, arguments->values, {.name = call.function});
  const std::int64_t ended = trace.now_ns();
  if (outcome.code != GANTRY_OK) return outcome.error;
  const std::size_t after = trace.events().size();
  const std::vector<TraceEvent> spans = device_spans(trace, before);
  for (const TraceEvent& span : spans) {
    if (span.start_ns < begun)
      return bug("span ", quoted(span.name), " begins ", begun - span.start_ns,
                 " ns before the call in which it is recorded");
    if (span.start_ns + span.duration_ns > ended)
      return bug("span ", quoted(span.name), " ends ", span.start_ns + span.duration_ns - ended,
                 " ns after synchronize has returned");
  }
  std::this_thread::sleep_for(kWait);
  if (const auto late = device_spans(trace, after); !late.empty())
    return bug("span ", quoted(late.front().name), " is recorded after synchronize has returned");
  return spans.size();
}

Status check_spans(const Stage& stage, const Payload& payload) {
  GANTRY_TRY(const auto device, stage.device_for(payload));
  GANTRY_CHECK(check_golden(stage, *device, payload));
  const PinnedBytes given = pinned(payload.bytes);
  GANTRY_TRY(const LoadedModule module, stage.load(payload, given.bytes->bytes(), given.pin.get()));
  std::size_t count = 0;
  for (int k = 0; k < 2; ++k) {
    for (const GoldenCall& call : payload.calls) {
      auto spans = check_call(stage, *device, module, call);
      if (!spans.ok()) return std::move(spans).error().at("in function ", quoted(call.function));
      count += *spans;
    }
  }
  if (count == 0) return skipped("the calls record no span on a track");
  return {};
}

// 115
Status records_device_work(Subject& subject) {
  return for_each_payload(subject, check_spans, {.traces = true});
}

constexpr Case kTraceCases[] = {
    {115, Level::D, Weight::must, "records-device-work",
     "spans on tracks of a device are within the time of their call, and recorded before "
     "synchronize returns",
     "record the spans of ended work in synchronize, at times of the trace's clock",
     records_device_work},
};

}  // namespace

std::span<const Case> trace_cases() { return kTraceCases; }

}  // namespace gantry::kit
