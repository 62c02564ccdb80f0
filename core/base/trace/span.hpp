// SPDX-License-Identifier: Apache-2.0
//
// Trace spans: named intervals on tracks, and values of counters, collected in memory and written
// as a Chrome trace (chrome_trace.hpp). A null recorder costs one comparison.
//
// Plugins and artifacts choose names and arguments, so their number and size are bounded: see
// TraceLimits.
#pragma once

#include <gantry/tensor.h>
#include <atomic>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gantry {

// The type and the device of a tensor, whose text is made when the trace is written: calls are recorded
// while they are measured.
struct TraceTensor {
  static constexpr std::size_t max_dimensions = 6;
  gantry_dtype dtype{};
  gantry_device_id device{};
  // may be more than max_dimensions
  std::int32_t ndim = 0;
  std::array<std::int64_t, max_dimensions> shape{};

  static TraceTensor of(const gantry_tensor& tensor);
};

using TraceValue = std::variant<std::int64_t, double, bool, std::string, TraceTensor>;

struct TraceArgument {
  std::string name;
  TraceValue value;
};

struct TraceEvent {
  std::string name;
  // "load", "plugin", "call", "op", "kernel"
  std::string category;
  // steady clock, since the creation of the recorder
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  // index in TraceRecorder::tracks(), which are numbered in the order of their first use
  std::uint64_t track = 0;
  std::vector<TraceArgument> arguments = {};
};

// A row of a trace viewer.
struct TraceTrack {
  // rows that belong together; empty: threads of this process
  std::string group;
  std::string name;
};

struct TraceCounterValue {
  std::string group;
  std::string name;
  std::int64_t time_ns = 0;
  double value = 0;
};

struct TraceLimits {
  // spans and values of counters; later ones are dropped and counted
  std::size_t records = 4'000'000;
  // later ones are one track
  std::size_t tracks = 1024;
  // of one span; later ones are dropped
  std::size_t arguments = 16;
  // bytes of a name, or of an argument's text; the rest is cut off
  std::size_t text = 256;
};

class TraceRecorder {
 public:
  explicit TraceRecorder(TraceLimits limits = {});

  std::int64_t now_ns() const;

  // Recording is on at first. While it is off, spans that begin are not recorded, nor values of
  // counters.
  //
  // thread   any; calls that run meanwhile may be recorded or not
  void set_recording(bool on) noexcept { is_recording_.store(on, std::memory_order_relaxed); }
  bool is_recording() const noexcept { return is_recording_.load(std::memory_order_relaxed); }

  // Each drops what it records if memory is exhausted.
  //
  // thread   any, in parallel
  // costs    one allocation for a long name, one lock

  // Records an interval of the calling thread. Its track has the thread's name at that time.
  void add(std::string_view name, std::string_view category, std::int64_t start_ns,
           std::int64_t duration_ns, std::vector<TraceArgument> arguments = {}) noexcept;
  // Records an interval of a track that track() has returned. Drops it if there is no such track.
  void add_on(std::uint64_t track, std::string_view name, std::string_view category,
              std::int64_t start_ns, std::int64_t duration_ns,
              std::vector<TraceArgument> arguments = {}) noexcept;
  // Records a value of a counter. Drops one that is not finite.
  void count(std::string_view group, std::string_view name, std::int64_t time_ns,
             double value) noexcept;
  // Names the track of the calling thread.
  void name_thread(std::string_view name) noexcept;

  // Returns the track of a group and a name; an index that no track has if memory is exhausted.
  std::uint64_t track(std::string_view group, std::string_view name) noexcept;

  std::vector<TraceEvent> events() const;
  std::vector<TraceTrack> tracks() const;
  std::vector<TraceCounterValue> counters() const;
  // Spans and values of counters that exceeded the limit.
  std::uint64_t dropped() const;

 private:
  std::uint64_t track_of_this_thread();
  std::uint64_t new_track(TraceTrack track);
  bool takes_record();
  void append(std::uint64_t track, std::string_view name, std::string_view category,
              std::int64_t start_ns, std::int64_t duration_ns,
              std::vector<TraceArgument> arguments);
  std::string cut(std::string_view text) const;

  const TraceLimits limits_;
  const std::chrono::steady_clock::time_point origin_;
  std::atomic<bool> is_recording_{true};
  mutable std::mutex mutex_;
  std::vector<TraceEvent> events_;
  std::vector<TraceCounterValue> counters_;
  std::uint64_t dropped_ = 0;
  std::vector<TraceTrack> tracks_;
  // by number_of_this_thread()
  std::map<std::uint64_t, std::uint64_t> threads_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> named_;
};

// Records the interval from its construction to its destruction.
class Span {
 public:
  // recorder        borrowed; NULL, or one whose recording is off: nothing is recorded
  // name, category  must outlive the span
  Span(TraceRecorder* recorder, std::string_view name, std::string_view category)
      : recorder_(recorder != nullptr && recorder->is_recording() ? recorder : nullptr),
        name_(name),
        category_(category),
        start_ns_(recorder_ != nullptr ? recorder_->now_ns() : 0) {}
  // Deleted: a temporary string would be destroyed before the span.
  template <std::same_as<std::string> Made>
  Span(TraceRecorder*, Made&&, std::string_view) = delete;
  ~Span() {
    if (!recorder_) return;
    const std::int64_t end_ns = recorder_->now_ns();
    recorder_->add(name_, category_, start_ns_, end_ns - start_ns_, std::move(arguments_));
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  bool is_recorded() const { return recorder_ != nullptr; }
  void set_arguments(std::vector<TraceArgument> arguments) { arguments_ = std::move(arguments); }

 private:
  TraceRecorder* recorder_;
  std::string_view name_, category_;
  std::int64_t start_ns_;
  std::vector<TraceArgument> arguments_;
};

}  // namespace gantry
