// SPDX-License-Identifier: Apache-2.0
//
// What cycles of the same calls leave in the process.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <string_view>

namespace gantry::kit {

struct GrowthLimits {
  // of each batch
  int cycles = 200;
  // of allocated memory that may be left by a cycle, on average
  std::uint64_t bytes_a_cycle = 16;
  // What is left must be left by each of so many batches: caches of drivers grow at any time.
  int batches = 1;
};

// Runs cycles and compares what the process holds afterwards: threads, descriptors, allocated and
// resident memory. The first cycles, which fill caches, are not counted.
//
// what     [in]   "create and destroy"
// returns  the error of a cycle; BUG: "200 cycles of create and destroy leave 3 threads"
Status check_growth(const std::function<Status()>& cycle, std::string_view what,
                    const GrowthLimits& limits);

// Returns the number of cycles that a case has time for, with all its batches: 200 at most.
//
// seconds  [in]   of the case
// batches  [in]   that are as long
// returns  the error of the cycle; not_run() if there is time for 20 only in a longer case
Result<int> cycles_within(double seconds, int batches, const std::function<Status()>& cycle);

}  // namespace gantry::kit
