// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>
#include <gantry/runtime.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace gantry::cli {

// Measures how long the work in the default stream of a device takes, on the device's own clock.
class DeviceTimer {
 public:
  // returns  nothing where the device has no events
  static Result<std::optional<DeviceTimer>> create(const gantry_device& device);
  ~DeviceTimer();
  DeviceTimer(DeviceTimer&& other) noexcept;
  DeviceTimer& operator=(DeviceTimer&&) = delete;

  // Marks the beginning and the end of the work.
  Status start() { return record(events_[0]); }
  Status stop() { return record(events_[1]); }
  // Waits for the end. Nanoseconds.
  Result<std::int64_t> elapsed() const;

 private:
  explicit DeviceTimer(const gantry_device& device) : device_(device) {}
  Status record(void* event);

  gantry_device device_;
  std::array<void*, 2> events_{};
};

}  // namespace gantry::cli
