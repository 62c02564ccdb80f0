// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace gantry {

// What gantry_env.task refers to: a group of calls that can be cancelled.
class CallTask {
 public:
  CallTask() = default;
  CallTask(const CallTask&) = delete;
  CallTask& operator=(const CallTask&) = delete;

  // thread   any; also in a signal handler
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // thread   any
  bool cancelled() const {
    return cancelled_.load(std::memory_order_relaxed) || (is_over_ != nullptr && is_over_(*this));
  }

 protected:
  // is_over  [in]   another reason to cancel; called on any thread
  explicit CallTask(bool (*is_over)(const CallTask& task)) : is_over_(is_over) {}

 private:
  std::atomic<bool> cancelled_{false};
  bool (*const is_over_)(const CallTask& task) = nullptr;
};

}  // namespace gantry
