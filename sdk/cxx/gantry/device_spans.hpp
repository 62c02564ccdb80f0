// SPDX-License-Identifier: Apache-2.0
//
// gantry/device_spans.hpp - kernels of a device in the runtime's trace, on tracks of its queues, at
// the times of the device's clock.
//
//     const std::int64_t begun = spans.launch_time();
//     ... launches, measured by `mark` if begun >= 0
//     if (begun >= 0) spans.launched(queue, {call.name(), grid, block}, begun, std::move(mark));
//     ...
//     synchronize:  wait for the queue, then
//     for (auto& kernel : spans.take(queue))
//       spans.record(kernel, anchor.trace_time(BEGIN), anchor.trace_time(END))
//
// with the times of kernel.mark.
//
// A Mark is what the driver reports times of: an event, a pair of events, a place for timestamps.
// Where nothing is recorded, a launch costs one comparison, and a wait one atomic load.
#pragma once

#include <gantry/concat.hpp>
#include <gantry/trace.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// One moment on the clock of a device and on the trace's.
struct ClockAnchor {
  std::int64_t device_ns = 0;
  std::int64_t trace_ns = 0;

  std::int64_t trace_time(std::int64_t device) const { return trace_ns + (device - device_ns); }
};

// A launch, for its span.
struct LaunchedKernel {
  std::string name;
  // as launched: blocks, and threads of one
  std::array<std::uint64_t, 3> grid{1, 1, 1};
  std::array<std::uint64_t, 3> block{1, 1, 1};
};

// The kernels of one device whose spans are not recorded yet.
//
// thread   any
template <class Mark>
class DeviceSpans {
 public:
  // Further launches without a wait between them are not measured.
  static constexpr std::size_t max_pending = 65536;

  struct Pending {
    // NULL: the default one
    const void* queue;
    LaunchedKernel kernel;
    // when it was launched
    std::int64_t launched_ns;
    Mark mark;
  };

  // device   [in]   the group of its tracks: "opencl:0"
  DeviceSpans(Host host, std::string device) : trace_(host), device_(std::move(device)) {}

  std::int64_t now() const { return trace_.now(); }
  // Returns now(); -1: a launch is not to be measured.
  std::int64_t launch_time() const {
    const std::int64_t time = trace_.now();
    return time >= 0 && count_.load(std::memory_order_relaxed) < max_pending ? time : -1;
  }

  // Keeps a launch until it is taken.
  //
  // launched_ns [in] launch_time(), before the launch
  void launched(const void* queue, LaunchedKernel kernel, std::int64_t launched_ns, Mark mark) {
    const std::lock_guard lock(mutex_);
    pending_.push_back({queue, std::move(kernel), launched_ns, std::move(mark)});
    count_.store(pending_.size(), std::memory_order_release);
  }

  // Returns the launches of a queue, in their order. They have ended: the caller has waited.
  std::vector<Pending> take(const void* queue) {
    return take_if([queue](const Pending& each) { return each.queue == queue; });
  }
  // Returns those of all queues.
  std::vector<Pending> take_all() {
    return take_if([](const Pending&) { return true; });
  }

  // Returns those for which is_taken(const Pending&) is true.
  template <class Predicate>
  std::vector<Pending> take_if(const Predicate& is_taken) {
    std::vector<Pending> taken;
    if (count_.load(std::memory_order_acquire) == 0) return taken;
    const std::lock_guard lock(mutex_);
    const auto rest = std::stable_partition(pending_.begin(), pending_.end(),
                                            [&](const Pending& each) { return !is_taken(each); });
    taken.assign(std::move_iterator(rest), std::move_iterator(pending_.end()));
    pending_.erase(rest, pending_.end());
    count_.store(pending_.size(), std::memory_order_release);
    return taken;
  }

  // Drops the launches of a queue that is destroyed, and its name.
  void forget(const void* queue) {
    (void)take(queue);
    const std::lock_guard lock(mutex_);
    tracks_.erase(queue);
  }

  // Records the span of a launch, within the time between its launch and now, also where the clocks
  // differ.
  void record(const Pending& pending, std::int64_t begin_ns, std::int64_t end_ns) {
    const std::int64_t now = trace_.now();
    if (now < 0) return;
    const std::int64_t first = std::min(pending.launched_ns, now);
    const std::int64_t begin = std::clamp(begin_ns, first, now);
    const std::int64_t end = std::clamp(end_ns, begin, now);
    const std::string grid = text_of(pending.kernel.grid);
    const std::string block = text_of(pending.kernel.block);
    const std::array arguments{
        gantry_trace_argument{gantry_text("grid"), cstring_value(grid.c_str())},
        gantry_trace_argument{gantry_text("block"), cstring_value(block.c_str())}};
    trace_.span(track_of(pending.queue), begin, end, pending.kernel.name, "kernel", arguments);
  }

 private:
  static std::string text_of(const std::array<std::uint64_t, 3>& extents) {
    return concat(extents[0], " x ", extents[1], " x ", extents[2]);
  }

  std::uint64_t track_of(const void* queue) {
    const std::lock_guard lock(mutex_);
    const auto known = tracks_.find(queue);
    if (known != tracks_.end()) return known->second;
    const std::string name =
        queue == nullptr ? std::string("default queue") : concat("queue ", ++queues_);
    return tracks_[queue] = trace_.track(device_, name);
  }

  const Trace trace_;
  const std::string device_;
  // of pending_
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::vector<Pending> pending_;
  std::map<const void*, std::uint64_t> tracks_;
  std::uint64_t queues_ = 0;
};

}  // namespace gantry
