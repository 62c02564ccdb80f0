// SPDX-License-Identifier: Apache-2.0
//
// gantry/trace.hpp - adds the work of a plugin to the runtime's trace.
//
//     const gantry::TracedWork work(host, concat("build ", kernel), "build");
//
//     const gantry::Trace trace(host);
//     const std::uint64_t track = trace.track("opencl:0", "queue 1");
//     if (trace.is_recording()) trace.span(track, begin, end, kernel, "kernel");
#pragma once

#include <gantry/trace.h>
#include <gantry/handle.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

// The extension gantry.trace/2. Records nothing in a host without it.
//
// thread   any
class Trace {
 public:
  explicit Trace(Host host) : host_(host), table_(host.extension<gantry_trace>(GANTRY_TRACE_2)) {}

  // Returns nanoseconds on the trace's clock; -1: nothing is recorded.
  std::int64_t now() const { return table_ != nullptr ? table_->now(host_.table()) : -1; }
  bool is_recording() const { return now() >= 0; }

  // Returns the track of a queue of a device.
  std::uint64_t track(std::string_view group, std::string_view name) const {
    return table_ == nullptr ? GANTRY_TRACK_THREAD
                             : table_->track(host_.table(), bytes_of(group), bytes_of(name));
  }
  void span(std::uint64_t track, std::int64_t begin, std::int64_t end, std::string_view name,
            std::string_view category,
            std::span<const gantry_trace_argument> arguments = {}) const {
    if (table_ == nullptr || begin < 0) return;
    table_->span(host_.table(), track, begin, end, bytes_of(name), bytes_of(category),
                 arguments.data(), static_cast<std::uint32_t>(arguments.size()));
  }
  // Records a span of the calling thread that ends now.
  //
  // begun    [in]   the result of now()
  void end(std::int64_t begun, std::string_view name, std::string_view category) const {
    if (begun >= 0) span(GANTRY_TRACK_THREAD, begun, now(), name, category);
  }

 private:
  Host host_;
  const gantry_trace* table_;
};

// Records a span of the calling thread, from its construction to its destruction.
class TracedWork {
 public:
  // category [in]   outlives the object
  TracedWork(Host host, std::string name, std::string_view category)
      : trace_(host), begun_(trace_.now()), name_(std::move(name)), category_(category) {}
  ~TracedWork() { trace_.end(begun_, name_, category_); }
  TracedWork(const TracedWork&) = delete;
  TracedWork& operator=(const TracedWork&) = delete;

 private:
  Trace trace_;
  std::int64_t begun_;
  std::string name_;
  std::string_view category_;
};

}  // namespace gantry
