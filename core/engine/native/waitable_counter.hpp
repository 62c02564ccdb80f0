// SPDX-License-Identifier: Apache-2.0
//
// A counter that threads wait on: a bounded spin, then a sleep in the kernel. Never allocates.
#pragma once

#include "core/engine/native/spin.hpp"

#include <atomic>
#include <climits>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gantry {

class WaitableCounter {
 public:
  std::uint32_t value() const { return value_.load(std::memory_order_acquire); }

  // Precondition: no thread waits.
  void reset(std::uint32_t value) { value_.store(value, std::memory_order_relaxed); }

  // Returns the sum, which wraps around. A sum that ends a wait must be followed by wake().
  std::uint32_t add(std::uint32_t n) { return value_.fetch_add(n, std::memory_order_seq_cst) + n; }

  // Wakes the threads that sleep. Writes before add() are visible after a wait that it ends.
  void wake() {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex(FUTEX_WAKE_PRIVATE, INT_MAX);
  }

  // Stores `to` if the value is `from`, without waking threads. Returns true if it was.
  bool replace(std::uint32_t from, std::uint32_t to) {
    return value_.compare_exchange_strong(from, to, std::memory_order_acq_rel,
                                          std::memory_order_relaxed);
  }

  // Returns once done(value()) is true.
  template <class Done>
  void wait_until(Done done, const SpinLimits& limits) {
    if (done(value())) return;
    for (Spin spin(limits); spin.again();) {
      if (done(value())) return;
    }
    // Either wake() sees the sleeper or the sleeper sees the sum of add(): all orders are seq_cst.
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    std::uint32_t seen = 0;
    while (!done(seen = value_.load(std::memory_order_seq_cst))) futex(FUTEX_WAIT_PRIVATE, seen);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  void futex(int operation, std::uint32_t number) {
    syscall(SYS_futex, &value_, operation, number, nullptr, nullptr, 0);
  }

  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace gantry
