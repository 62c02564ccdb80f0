// SPDX-License-Identifier: Apache-2.0
#include "core/base/trace/self_times.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace gantry {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

// A call, or an operator of a graph.
struct Interval {
  const TraceEvent* event;
  // index of the innermost interval around it
  std::size_t around = kNone;
  // of the calls directly within it
  double inner_ns = 0;
  // of the kernels that it and the calls within it have launched, as the device measured them; -1:
  // there is none
  double kernels_ns = -1;
  bool has_calls = false, is_in_operator = false;

  bool is_operator() const { return event->category == "op"; }
  double duration() const { return static_cast<double>(event->duration_ns); }
};

// Returns calls and operators of each track in order, each after the one around it.
std::vector<Interval> intervals_of(std::span<const TraceEvent> events) {
  std::vector<Interval> all;
  for (const TraceEvent& event : events) {
    if (event.category == "call" || event.category == "op") all.push_back({&event});
  }
  const auto order = [](const Interval& one) {
    // An operator is around a call of the same length.
    return std::tuple(one.event->track, one.event->start_ns, -one.event->duration_ns,
                      !one.is_operator());
  };
  std::ranges::stable_sort(all, [&](const auto& a, const auto& b) { return order(a) < order(b); });
  const auto end_of = [](const Interval& one) {
    return one.event->start_ns + one.event->duration_ns;
  };
  std::size_t around = kNone;
  for (std::size_t i = 0; i < all.size(); ++i) {
    while (around != kNone && (all[around].event->track != all[i].event->track ||
                               end_of(all[around]) < end_of(all[i])))
      around = all[around].around;
    all[i].around = around;
    if (around != kNone)
      all[i].is_in_operator = all[around].is_operator() || all[around].is_in_operator;
    around = i;
  }
  return all;
}

// The times of kernels by name, in order.
using Kernels = std::map<std::string_view, std::vector<const TraceEvent*>>;

Kernels kernels_of(std::span<const TraceEvent> events) {
  Kernels kernels;
  for (const TraceEvent& event : events) {
    if (event.category == "kernel") kernels[event.name].push_back(&event);
  }
  for (auto& [name, all] : kernels) std::ranges::stable_sort(all, {}, &TraceEvent::start_ns);
  return kernels;
}

// A call of a kernel only enqueues it: the n-th call of a name has launched the n-th kernel of it.
// Takes the kernels of calls within operators out of the list.
void assign_kernels(std::vector<Interval>& intervals, Kernels& kernels) {
  std::vector<Interval*> calls;
  for (Interval& one : intervals) {
    if (one.is_in_operator && kernels.contains(one.event->name)) calls.push_back(&one);
  }
  std::ranges::stable_sort(calls, {}, [](const Interval* call) { return call->event->start_ns; });
  std::map<std::string_view, std::size_t> taken;
  for (Interval* const call : calls) {
    const std::vector<const TraceEvent*>& all = kernels[call->event->name];
    const std::size_t index = taken[call->event->name]++;
    if (index < all.size()) call->kernels_ns = static_cast<double>(all[index]->duration_ns);
  }
  for (const auto& [name, count] : taken) kernels.erase(name);
}

}  // namespace

std::map<std::string, SelfTime> self_times(std::span<const TraceEvent> events) {
  std::vector<Interval> intervals = intervals_of(events);
  Kernels kernels = kernels_of(events);
  assign_kernels(intervals, kernels);
  // An inner interval precedes those around it.
  for (std::size_t i = intervals.size(); i-- > 0;) {
    const Interval& one = intervals[i];
    if (one.around == kNone) continue;
    Interval& outer = intervals[one.around];
    outer.inner_ns += one.duration();
    outer.has_calls = true;
    if (one.kernels_ns >= 0) outer.kernels_ns = std::max(outer.kernels_ns, 0.0) + one.kernels_ns;
  }
  std::map<std::string, SelfTime> times;
  for (const Interval& one : intervals) {
    if (one.is_in_operator) continue;
    SelfTime& time = times[one.event->name];
    ++time.calls;
    if (!one.is_operator()) {
      time.ns += one.duration() - one.inner_ns;
      time.has_calls = time.has_calls || one.has_calls;
    } else if (one.kernels_ns >= 0) {
      time.ns += one.kernels_ns;
    } else {
      // Recording the calls within it takes time, too, which is not part of theirs.
      time.ns += one.has_calls ? one.inner_ns : one.duration();
    }
  }
  for (const auto& [name, all] : kernels) {
    SelfTime& time = times[std::string(name)] = {};
    for (const TraceEvent* const kernel : all) time.ns += static_cast<double>(kernel->duration_ns);
    time.calls = all.size();
  }
  return times;
}

}  // namespace gantry
