// SPDX-License-Identifier: Apache-2.0
//
// Two events of the driver around work in a stream, which measure it on the device's clock.
#pragma once

#include "driver.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace gantry::cuda {

// An event with a time. A current context creates and destroys it.
class OwnedEvent {
 public:
  // An empty one.
  explicit OwnedEvent(const Driver& driver) : driver_(&driver) {}
  // Records an event in a stream. Empty: the driver fails.
  static OwnedEvent record(const Driver& driver, CUstream stream) {
    OwnedEvent made(driver);
    if (driver.event_create.function(&made.event_, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return made;
    if (driver.event_record.function(made.event_, stream) != CUDA_SUCCESS)
      return OwnedEvent(driver);
    return made;
  }
  OwnedEvent(OwnedEvent&& other) noexcept
      : driver_(other.driver_), event_(std::exchange(other.event_, nullptr)) {}
  OwnedEvent& operator=(OwnedEvent other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~OwnedEvent() {
    if (event_ != nullptr) driver_->event_destroy.function(event_);
  }
  CUevent get() const { return event_; }
  explicit operator bool() const { return event_ != nullptr; }

  // Nanoseconds from this event to a later one; both are reached.
  std::optional<std::int64_t> until(const OwnedEvent& later) const {
    float milliseconds = 0;
    if (driver_->event_elapsed_time.function(&milliseconds, event_, later.event_) != CUDA_SUCCESS)
      return std::nullopt;
    return std::llround(static_cast<double>(milliseconds) * 1e6);
  }

 private:
  const Driver* driver_;
  CUevent event_ = nullptr;
};

struct EventPair {
  // The begin of work that follows. Nothing is measured if the driver fails, or while the stream is
  // captured: the events would be part of the graph.
  static std::optional<EventPair> begin(const Driver& driver, CUstream stream) {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    if (driver.stream_is_capturing.function(stream, &capture) != CUDA_SUCCESS ||
        capture != CU_STREAM_CAPTURE_STATUS_NONE)
      return std::nullopt;
    OwnedEvent first = OwnedEvent::record(driver, stream);
    if (!first) return std::nullopt;
    return EventPair{std::move(first), OwnedEvent(driver)};
  }
  // Ends the work. Returns false if the driver fails.
  bool end(const Driver& driver, CUstream stream) {
    last = OwnedEvent::record(driver, stream);
    return static_cast<bool>(last);
  }

  OwnedEvent first;
  OwnedEvent last;
};

}  // namespace gantry::cuda
