// SPDX-License-Identifier: Apache-2.0
//
// gantry/device_loss.hpp - makes the loss of a device final, as the ABI requires: after a call that
// returned LOST, all later calls for the device return the same error.
//
//     class Device {
//      public:
//       gantry::DeviceLoss loss;
//
// The templates of device.hpp check it before each call but those that release something, and
// record LOST after it. Kernels do both themselves:
//
//     GANTRY_CHECK(device.loss.check());
//     return device.loss.recorded(launch(kernel));
#pragma once

#include <gantry/result.hpp>

#include <atomic>
#include <mutex>
#include <utility>

namespace gantry {

// thread   any
class DeviceLoss {
 public:
  DeviceLoss() = default;
  DeviceLoss(const DeviceLoss&) = delete;
  DeviceLoss& operator=(const DeviceLoss&) = delete;

  // returns  LOST  the error that was recorded
  // costs    one load
  Status check() const {
    if (!is_lost_.load(std::memory_order_acquire)) [[likely]]
      return {};
    return error_;
  }

  // Records the error of a call if it is LOST, and returns the result of the call.
  template <class T>
  Result<T> recorded(Result<T> done) {
    if (!done.ok() && done.error().code == Code::lost) [[unlikely]]
      record(done.error());
    return done;
  }

 private:
  // The first error remains.
  void record(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (is_lost_.load(std::memory_order_relaxed)) return;
    error_ = error;
    is_lost_.store(true, std::memory_order_release);
  }

  std::atomic<bool> is_lost_{false};
  std::mutex mutex_;
  Error error_;
};

}  // namespace gantry
