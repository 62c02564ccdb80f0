// SPDX-License-Identifier: Apache-2.0
#include "core/base/trace/span.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <new>

namespace gantry {
namespace {

constexpr std::uint64_t kNoTrack = UINT64_MAX;

// Unlike its id, no later thread has it.
std::uint64_t number_of_this_thread() {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t number = ++last;
  return number;
}

// The name that debuggers show: of the program if the thread has no own one.
std::string name_of_this_thread() {
  // the kernel's limit, with the terminator
  char name[16] = {};
  if (pthread_getname_np(pthread_self(), name, sizeof name) != 0) return "thread";
  return name;
}

}  // namespace

TraceTensor TraceTensor::of(const gantry_tensor& tensor) {
  TraceTensor made{tensor.dtype, tensor.device, tensor.ndim};
  if (tensor.shape == nullptr) return made;
  for (std::int32_t i = 0; i < std::min(tensor.ndim, static_cast<std::int32_t>(max_dimensions));
       ++i)
    made.shape[static_cast<std::size_t>(i)] = tensor.shape[i];
  return made;
}

TraceRecorder::TraceRecorder(TraceLimits limits)
    : limits_(limits), origin_(std::chrono::steady_clock::now()) {}

std::int64_t TraceRecorder::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              origin_)
      .count();
}

std::string TraceRecorder::cut(std::string_view text) const {
  if (text.size() <= limits_.text) return std::string(text);
  std::size_t end = limits_.text;
  // not within a character
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

// All tracks above the limit are the last one.
std::uint64_t TraceRecorder::new_track(TraceTrack track) {
  if (tracks_.size() + 1 < limits_.tracks) {
    tracks_.push_back(std::move(track));
  } else if (tracks_.size() < limits_.tracks) {
    tracks_.push_back({"gantry", "further tracks"});
  }
  return tracks_.size() - 1;
}

std::uint64_t TraceRecorder::track_of_this_thread() {
  const std::uint64_t number = number_of_this_thread();
  if (const auto known = threads_.find(number); known != threads_.end()) return known->second;
  const std::uint64_t track = new_track({"", name_of_this_thread()});
  // Threads above the limit have the last track, and take no memory.
  if (threads_.size() < limits_.tracks) threads_.emplace(number, track);
  return track;
}

bool TraceRecorder::takes_record() {
  if (events_.size() + counters_.size() < limits_.records) return true;
  ++dropped_;
  return false;
}

void TraceRecorder::append(std::uint64_t track, std::string_view name, std::string_view category,
                           std::int64_t start_ns, std::int64_t duration_ns,
                           std::vector<TraceArgument> arguments) {
  if (!takes_record()) return;
  if (arguments.size() > limits_.arguments) arguments.resize(limits_.arguments);
  for (TraceArgument& argument : arguments) {
    argument.name = cut(argument.name);
    if (auto* const text = std::get_if<std::string>(&argument.value)) *text = cut(*text);
  }
  events_.push_back({cut(name), cut(category), start_ns, std::max<std::int64_t>(duration_ns, 0),
                     track, std::move(arguments)});
}

// What is recorded is dropped without memory: destructors call these functions and cannot report a
// failure.
void TraceRecorder::add(std::string_view name, std::string_view category, std::int64_t start_ns,
                        std::int64_t duration_ns, std::vector<TraceArgument> arguments) noexcept
    try {
  const std::lock_guard lock(mutex_);
  append(track_of_this_thread(), name, category, start_ns, duration_ns, std::move(arguments));
} catch (const std::bad_alloc&) {
}

void TraceRecorder::add_on(std::uint64_t track, std::string_view name, std::string_view category,
                           std::int64_t start_ns, std::int64_t duration_ns,
                           std::vector<TraceArgument> arguments) noexcept try {
  const std::lock_guard lock(mutex_);
  if (track < tracks_.size())
    append(track, name, category, start_ns, duration_ns, std::move(arguments));
} catch (const std::bad_alloc&) {
}

void TraceRecorder::count(std::string_view group, std::string_view name, std::int64_t time_ns,
                          double value) noexcept try {
  if (!std::isfinite(value) || !is_recording()) return;
  const std::lock_guard lock(mutex_);
  if (takes_record()) counters_.push_back({cut(group), cut(name), time_ns, value});
} catch (const std::bad_alloc&) {
}

void TraceRecorder::name_thread(std::string_view name) noexcept try {
  const std::lock_guard lock(mutex_);
  TraceTrack& track = tracks_[track_of_this_thread()];
  // not the one that further threads share
  if (track.group.empty()) track.name = cut(name);
} catch (const std::bad_alloc&) {
}

std::uint64_t TraceRecorder::track(std::string_view group, std::string_view name) noexcept try {
  const std::lock_guard lock(mutex_);
  std::pair key(cut(group), cut(name));
  if (key.first.empty()) key.first = "?";
  const auto known = named_.find(key);
  if (known != named_.end()) return known->second;
  const std::uint64_t track = new_track({key.first, key.second});
  if (named_.size() < limits_.tracks) named_.emplace(std::move(key), track);
  return track;
} catch (const std::bad_alloc&) {
  return kNoTrack;
}

std::vector<TraceEvent> TraceRecorder::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::vector<TraceTrack> TraceRecorder::tracks() const {
  const std::lock_guard lock(mutex_);
  return tracks_;
}

std::vector<TraceCounterValue> TraceRecorder::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

std::uint64_t TraceRecorder::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace gantry
