// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/gantry.h>

#include <atomic>

namespace gantry {

// A group of calls that can be cancelled: pass env() to Function::call, and call cancel() on any
// thread.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const {
    return cancelled_.load(std::memory_order_relaxed) || (is_over_ != nullptr && is_over_(*this));
  }
  // lifetime the task must outlive the call
  gantry_env env(gantry_device_id device = {1, 0}) const { return {device, nullptr, this}; }

 protected:
  // is_over  [in]   another reason to cancel; called on any thread
  explicit Task(bool (*is_over)(const Task& task)) : is_over_(is_over) {}

 private:
  std::atomic<bool> cancelled_{false};
  bool (*const is_over_)(const Task& task) = nullptr;
};

}  // namespace gantry
