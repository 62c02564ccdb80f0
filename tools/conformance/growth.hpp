// SPDX-License-Identifier: Apache-2.0
//
// What cycles of the same calls leave in the process.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <string_view>

namespace gantry::kit {

// of each batch
constexpr int kCycles = 200;

// Runs cycles and compares what the process holds afterwards: threads, descriptors, allocated and
// resident memory. The first cycles, which fill caches, are not counted.
//
// what           [in]   "create and destroy"
// bytes_a_cycle  [in]   of allocated memory that may be left by a cycle, on average
// returns        the error of a cycle; BUG: "200 cycles of create and destroy leave 3 threads"
Status check_growth(const std::function<Status()>& cycle, std::string_view what,
                    std::uint64_t bytes_a_cycle);

// The same for cycles that use a driver, whose caches grow at any time: what is left must be left by
// each of three batches.
Status check_steady_growth(const std::function<Status()>& cycle, std::string_view what);

}  // namespace gantry::kit
