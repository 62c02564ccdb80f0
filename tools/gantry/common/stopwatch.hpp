// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace gantry::cli {

// Measures the time since its construction.
class Stopwatch {
 public:
  double nanoseconds() const {
    return std::chrono::duration<double, std::nano>(Clock::now() - begun_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace gantry::cli
