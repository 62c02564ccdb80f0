// SPDX-License-Identifier: Apache-2.0
#include "core/base/trace/self_times.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace gantry {

std::map<std::string, SelfTime> self_times(std::span<const TraceEvent> events) {
  std::vector<const TraceEvent*> calls;
  for (const TraceEvent& event : events) {
    if (event.category == "call") calls.push_back(&event);
  }
  // A call follows the one that contains it.
  std::ranges::stable_sort(calls, [](const TraceEvent* a, const TraceEvent* b) {
    return std::tuple(a->track, a->start_ns, b->duration_ns) <
           std::tuple(b->track, b->start_ns, a->duration_ns);
  });
  const auto end_of = [](const TraceEvent& call) { return call.start_ns + call.duration_ns; };
  std::map<std::string, SelfTime> times;
  // calls that contain the current one, the innermost last
  std::vector<const TraceEvent*> around;
  for (const TraceEvent* call : calls) {
    while (!around.empty() &&
           (around.back()->track != call->track || end_of(*around.back()) < end_of(*call)))
      around.pop_back();
    const auto duration = static_cast<double>(call->duration_ns);
    SelfTime& own = times[call->name];
    own.ns += duration;
    ++own.calls;
    if (!around.empty()) {
      SelfTime& outer = times[around.back()->name];
      outer.ns -= duration;
      outer.has_calls = true;
    }
    around.push_back(call);
  }
  // A call of a kernel only enqueues it.
  std::map<std::string, SelfTime> kernels;
  for (const TraceEvent& event : events) {
    if (event.category == "kernel") {
      SelfTime& kernel = kernels[event.name];
      kernel.ns += static_cast<double>(event.duration_ns);
      ++kernel.calls;
    }
  }
  for (const auto& [name, time] : kernels) times[name] = time;
  return times;
}

}  // namespace gantry
