// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/gantry.h>

#include <atomic>

namespace gantry {

// A group of calls that can be cancelled: pass env() to Function::call, and call cancel() on any
// thread.
class Task {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // lifetime the task must outlive the call
  gantry_env env(gantry_device_id device = {1, 0}) const { return {device, nullptr, this}; }

 private:
  std::atomic<bool> cancelled_{false};
};

}  // namespace gantry
