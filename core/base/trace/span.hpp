// SPDX-License-Identifier: Apache-2.0
//
// Trace spans: named intervals, collected in memory and written as a Chrome trace
// (chrome://tracing, Perfetto). A null recorder costs one comparison.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct TraceEvent {
  std::string name;
  // "load", "plugin", "call", "op"
  std::string category;
  // steady clock, since the creation of the recorder
  std::int64_t start_ns;
  std::int64_t duration_ns;
  // threads are numbered in the order of their first event
  std::uint64_t thread;
};

class TraceRecorder {
 public:
  TraceRecorder();

  // Drops the interval if memory is exhausted.
  //
  // thread   any, in parallel
  // costs    one allocation for a long name, one lock
  void add(std::string_view name, std::string_view category, std::int64_t start_ns,
           std::int64_t duration_ns) noexcept;
  std::int64_t now_ns() const;
  std::vector<TraceEvent> events() const;

 private:
  const std::chrono::steady_clock::time_point origin_;
  mutable std::mutex mutex_;
  std::vector<TraceEvent> events_;
  std::vector<std::uint64_t> threads_;
};

// Records the interval from its construction to its destruction.
class Span {
 public:
  // recorder        borrowed; NULL: nothing is recorded
  // name, category  must outlive the span
  Span(TraceRecorder* recorder, std::string_view name, std::string_view category)
      : recorder_(recorder),
        name_(name),
        category_(category),
        start_ns_(recorder ? recorder->now_ns() : 0) {}
  // Deleted: a temporary string would be destroyed before the span.
  template <std::same_as<std::string> Made>
  Span(TraceRecorder*, Made&&, std::string_view) = delete;
  ~Span() {
    if (recorder_) recorder_->add(name_, category_, start_ns_, recorder_->now_ns() - start_ns_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  TraceRecorder* recorder_;
  std::string_view name_, category_;
  std::int64_t start_ns_;
};

}  // namespace gantry
