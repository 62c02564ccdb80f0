// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/spin.hpp"

#include <sched.h>

#include <atomic>

namespace gantry {
namespace {

// Longer than the time between two operators of a graph. A yield, a system call, delays the reply
// to what the thread waits for by some hundreds of nanoseconds, and lets other threads run.
constexpr std::chrono::microseconds kWithoutYields{50};

std::atomic<std::int32_t> spinning{0};

}  // namespace

WaitStep next_step(std::chrono::nanoseconds waited, std::int32_t spinning_now,
                   const SpinLimits& limits) {
  if (waited >= limits.window) return WaitStep::sleep;
  const bool crowded = spinning_now > limits.max_spinning;
  return crowded || waited >= kWithoutYields ? WaitStep::yield : WaitStep::pause;
}

Spin::~Spin() {
  if (counted_) spinning.fetch_sub(1, std::memory_order_relaxed);
}

bool Spin::step() {
  const auto now = std::chrono::steady_clock::now();
  if (!counted_) {
    counted_ = true;
    start_ = now;
    spinning.fetch_add(1, std::memory_order_relaxed);
  }
  const WaitStep next = next_step(now - start_, spinning_threads(), limits_);
  if (next == WaitStep::yield) sched_yield();
  return next != WaitStep::sleep;
}

std::int32_t spinning_threads() { return spinning.load(std::memory_order_relaxed); }

void forget_spinning_threads() { spinning.store(0, std::memory_order_relaxed); }

}  // namespace gantry
