// SPDX-License-Identifier: Apache-2.0
//
// What a waiting thread does before it sleeps in the kernel. Waking a thread takes about 100 us, so
// a thread that is needed again soon must not sleep; a thread that spins occupies a CPU.
//
//     for (Spin spin(limits); spin.again();) {
//       if (ready()) return;
//     }
//     sleep
#pragma once

#include <chrono>
#include <cstdint>

namespace gantry {

struct SpinLimits {
  // from the start of the wait until the thread sleeps
  std::chrono::nanoseconds window;
  // Threads of the process that may spin without yielding, whichever pool they belong to. With one
  // thread fewer than CPUs, spinning threads leave a CPU to the thread that they wait for.
  std::int32_t max_spinning;
};

enum class WaitStep { pause, yield, sleep };

// waited    [in]   time since the start of the wait
// spinning  [in]   threads of this process that spin, including this one
WaitStep next_step(std::chrono::nanoseconds waited, std::int32_t spinning,
                   const SpinLimits& limits);

// One wait of one thread.
class Spin {
 public:
  explicit Spin(const SpinLimits& limits) : limits_(limits) {}
  ~Spin();
  Spin(const Spin&) = delete;
  Spin& operator=(const Spin&) = delete;

  // Pauses the CPU or yields it. Returns false if the thread should sleep.
  //
  // costs    tens of nanoseconds; every 32nd call reads the clock
  bool again() {
    if (++calls_ % kCallsPerStep != 0) [[likely]] {
      pause();
      return true;
    }
    return step();
  }

 private:
  static constexpr std::uint32_t kCallsPerStep = 32;

  // Saves power and gives way to the other hardware thread of the core.
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  bool step();

  const SpinLimits& limits_;
  std::uint32_t calls_ = 0;
  // set by the first step, which also counts this thread as spinning
  bool counted_ = false;
  std::chrono::steady_clock::time_point start_{};
};

// Returns the number of threads of this process that spin.
std::int32_t spinning_threads();

// Sets the number to 0 in a forked child, which has only the thread that called fork().
void forget_spinning_threads();

}  // namespace gantry
