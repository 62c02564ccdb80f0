// SPDX-License-Identifier: Apache-2.0
//
// Limits of the memory that a model of 46 MB takes from the load to the first output.
#pragma once

#include "tests/support/anonymous_bytes.hpp"

#include <malloc.h>

#include <cstdint>

namespace gantry::test {

// 23 arrays of 2 MB each.
constexpr std::int64_t large_array_count = 23;
constexpr std::int64_t large_array_floats = 500'000;
constexpr std::int64_t large_model_bytes = large_array_count * large_array_floats * 4;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Sanitizers have memory about the program's memory.
constexpr std::int64_t max_bytes_in_place = large_model_bytes / 2;
#else
constexpr std::int64_t max_bytes_in_place = 5'000'000;
#endif

// A header of 48 bytes precedes each array, so that some arrays of a payload without fillers are
// aligned by chance.
constexpr std::int64_t min_bytes_of_copies = large_model_bytes * 3 / 4;

// Returns the anonymous memory without pages of the heap that are free, which copies would use
// again.
inline std::int64_t anonymous_bytes_in_use() {
  malloc_trim(0);
  return anonymous_bytes();
}

}  // namespace gantry::test
