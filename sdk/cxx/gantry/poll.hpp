// SPDX-License-Identifier: Apache-2.0
//
// gantry/poll.hpp - waits for a time for what a driver only reports when it is asked.
#pragma once

#include <gantry/device.h>
#include <gantry/result.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace gantry {

// Calls `ask` until it returns true or an error, or the time has passed: at once, then at intervals
// that grow from 10 us to 1 ms.
//
// ask      [in]   Result<bool> ask()
// returns  false: not within the time
template <class Ask>
Result<bool> poll(std::int64_t timeout_ns, Ask&& ask) {
  using Clock = std::chrono::steady_clock;
  using std::chrono::nanoseconds;
  const Clock::time_point begun = Clock::now();
  nanoseconds interval = std::chrono::microseconds(10);
  for (;;) {
    GANTRY_TRY(const bool done, ask());
    if (done) return true;
    const std::int64_t left = timeout_ns - nanoseconds(Clock::now() - begun).count();
    if (left <= 0) return false;
    std::this_thread::sleep_for(std::min(interval, nanoseconds(left)));
    interval = std::min<nanoseconds>(interval * 2, std::chrono::milliseconds(1));
  }
}

}  // namespace gantry
