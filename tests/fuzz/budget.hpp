// SPDX-License-Identifier: Apache-2.0
//
// What one input may cost: bytes on the heap at once, and processor time.
//
//     const Budget budget(size);     // first line of an entry point: outlives everything that the input makes
//
// Bytes are counted by the allocator, for this thread: through the sanitizer's hooks, which see malloc too, or by
// operator new and delete of this program where there is no address sanitizer. The allocation that goes over
// the limit aborts, so that its stack is the finding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gantry::fuzz {

struct Cost {
  double bytes_per_input_byte = 8;
  std::size_t bytes_for_free = std::size_t{1} << 20;
  // Of the thread's processor time, for an input of up to 1 MiB. Instrumented code is given more, see budget.cpp.
  std::int64_t milliseconds = 100;
};

class Budget {
 public:
  explicit Budget(std::size_t input_bytes, const Cost& cost = {});
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // Lets the next `count` inputs of this thread take too long: a busy machine makes a thread slower by its own clock
  // too, by caches and a processor that two share. Who runs an input again then, judges the least of its times.
  static void give_chances(int count);
  // Has a budget used one since it was asked last?
  static bool took_chance();

  // The most bytes that were alive at once since construction.
  std::int64_t peak_bytes() const;
  std::int64_t nanoseconds() const;

 private:
  std::int64_t begun_at_;
  std::int64_t max_nanoseconds_;
};

}  // namespace gantry::fuzz
