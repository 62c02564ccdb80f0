// SPDX-License-Identifier: Apache-2.0
//
// Machine code of x86-64, instruction by instruction.
#include "core/formats/target/x86_instruction.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size);
  std::span<const std::uint8_t> left(data, size);
  while (!left.empty()) {
    const auto found = decode_x86(left);
    if (!found) break;
    expect(found->size != 0 && found->size <= left.size(), "an instruction is inside the code");
    const auto again = decode_x86(left.first(found->size));
    expect(again && again->size == found->size && again->feature == found->feature,
           "nothing after an instruction decides what it is");
    expect(!decode_x86(left.first(found->size - 1)), "a part of an instruction is none");
    left = left.subspan(found->size);
  }
  return 0;
}
