// SPDX-License-Identifier: Apache-2.0
//
// A counter that threads wait on: a bounded spin, then a sleep in the kernel. Never allocates.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gantry {

// Marks a spin loop for the CPU, which saves power and yields to the other hardware thread.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Signal {
 public:
  std::uint32_t value() const { return value_.load(std::memory_order_acquire); }

  // Increments the counter and wakes all waiting threads. Writes before raise() are visible after
  // the wait.
  void raise() {
    value_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex(FUTEX_WAKE_PRIVATE, INT_MAX);
  }

  // Returns once the value is no longer `seen`.
  //
  // spins    [in]   reads of the value before sleeping, each some tens of nanoseconds
  void wait_past(std::uint32_t seen, std::uint32_t spins) {
    for (std::uint32_t i = 0; i < spins; ++i) {
      if (value() != seen) return;
      spin_pause();
    }
    // Either raise() sees the sleeper or the sleeper sees the new value: both orders are seq_cst.
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (value_.load(std::memory_order_seq_cst) == seen) futex(FUTEX_WAIT_PRIVATE, seen);
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
