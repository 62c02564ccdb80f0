// SPDX-License-Identifier: Apache-2.0
//
// gantry/notices.hpp - for plugins whose driver calls a function with one argument: the functions
// that stream_notify has received, of which each is called once.
//
//     Notices::One* const one = notices.add(notify, argument);
//     if (!driver_calls_back(stream, [](void* self) { Notices::deliver(self); }, one))
//       notices.withdraw(one);
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

namespace gantry {

// thread   any
class Notices {
 public:
  struct One {
    Notices* owner;
    void (*notify)(void* argument);
    void* argument;
  };

  Notices() = default;
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;
  // Waits for those that have not been delivered.
  ~Notices() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [&] { return pending_.empty(); });
  }

  One* add(void (*notify)(void* argument), void* argument) {
    auto one = std::make_unique<One>(One{this, notify, argument});
    const std::lock_guard lock(mutex_);
    pending_.insert(one.get());
    return one.release();
  }
  // The driver will not call it.
  void withdraw(One* one) {
    const std::unique_ptr<One> owned(one);
    // Notifies under the lock, because the destructor may run as soon as it is released.
    const std::lock_guard lock(mutex_);
    pending_.erase(one);
    if (pending_.empty()) none_.notify_all();
  }
  // one      [in]   a One
  static void deliver(void* one) {
    auto* const delivered = static_cast<One*>(one);
    delivered->notify(delivered->argument);
    delivered->owner->withdraw(delivered);
  }
  // The driver is gone and calls none any more: delivers all that are left.
  void deliver_all() {
    for (One* one = first(); one != nullptr; one = first()) deliver(one);
  }

  bool is_empty() const {
    const std::lock_guard lock(mutex_);
    return pending_.empty();
  }

 private:
  One* first() const {
    const std::lock_guard lock(mutex_);
    return pending_.empty() ? nullptr : *pending_.begin();
  }

  mutable std::mutex mutex_;
  std::condition_variable none_;
  std::set<One*> pending_;
};

}  // namespace gantry
