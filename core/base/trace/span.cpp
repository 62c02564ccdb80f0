// SPDX-License-Identifier: Apache-2.0
#include "core/base/trace/span.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <thread>

namespace gantry {

TraceRecorder::TraceRecorder() : origin_(std::chrono::steady_clock::now()) {}

std::int64_t TraceRecorder::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              origin_)
      .count();
}

void TraceRecorder::add(std::string_view name, std::string_view category, std::int64_t start_ns,
                        std::int64_t duration_ns) noexcept try {
  const std::uint64_t id = std::hash<std::thread::id>()(std::this_thread::get_id());
  const std::lock_guard lock(mutex_);
  auto known = std::find(threads_.begin(), threads_.end(), id);
  if (known == threads_.end()) known = threads_.insert(threads_.end(), id);
  events_.push_back({std::string(name), std::string(category), start_ns, duration_ns,
                     static_cast<std::uint64_t>(known - threads_.begin())});
} catch (const std::bad_alloc&) {
  // The interval is dropped: add() is called by destructors, which cannot report a failure.
}

std::vector<TraceEvent> TraceRecorder::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

}  // namespace gantry
