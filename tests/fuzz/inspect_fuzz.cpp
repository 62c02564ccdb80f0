// SPDX-License-Identifier: Apache-2.0
//
// `gantry inspect`: a file of any kind, and its report as text and as JSON. The mutator changes the
// structure of bare containers.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/container_mutator.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/inspected.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gantry::fuzz::Budget budget(size, gantry::fuzz::payload_cost);
  gantry::fuzz::inspect_whole({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max, unsigned seed) {
  return gantry::fuzz::mutate_container(data, size, max, seed);
}
