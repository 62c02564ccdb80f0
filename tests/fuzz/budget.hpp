// SPDX-License-Identifier: Apache-2.0
//
// Limits of one input: peak bytes on the heap, and processor time.
//
//     const Budget budget(size);
//
// The first statement of an entry point, so that it outlives all that the input allocates.
//
// Bytes of this thread are counted through the malloc hooks of AddressSanitizer or, without it, in
// this program's operator new and delete. The allocation that exceeds the limit aborts, so that the
// report contains its stack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gantry::fuzz {

struct Cost {
  double bytes_per_input_byte = 8;
  std::size_t bytes_for_free = std::size_t{1} << 20;
  // Processor time of the thread; multiplied for instrumented code, see budget.cpp. Readers take 1
  // to 50 ns per byte of a binary file, and up to 1,000 ns per byte of a text.
  std::int64_t nanoseconds_per_input_byte = 250;
  std::int64_t nanoseconds_for_free = 5'000'000;
};

// Of targets that read payloads: a constant of 8 bytes in the code of a virtual machine is a value of
// 80 and an offset, and has details.
constexpr Cost payload_cost{.bytes_per_input_byte = 24};

class Budget {
 public:
  explicit Budget(std::size_t input_bytes, const Cost& cost = {});
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // Allows the next `count` inputs of this thread to exceed the time limit. Other load on the
  // machine also increases processor time, through shared caches and cores, so a caller repeats an
  // input and uses the minimum.
  static void give_chances(int count);
  // True if a budget has used one of them since the last call.
  static bool took_chance();

  // Peak number of live bytes since construction, and number of allocations.
  std::int64_t peak_bytes() const;
  std::int64_t allocations() const;
  std::int64_t nanoseconds() const;

 private:
  std::int64_t begun_at_;
  std::int64_t max_nanoseconds_;
};

}  // namespace gantry::fuzz
