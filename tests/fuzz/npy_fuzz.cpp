// SPDX-License-Identifier: Apache-2.0
//
// A numpy array: reads it, writes it and reads it again.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/arrays/npy.hpp"

#include <algorithm>

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size);
  const auto array = read_npy({data, size});
  if (!array.ok()) return expect_refusal(array.error(), size);
  expect(array->data_at + array->data.size() == size, "data end at the end of the file");

  const auto written = npy_bytes(array->dtype, array->shape, array->data);
  expect(written.ok(), "what was read can be written");
  const auto again = read_npy(*written);
  expect(again.ok(), "what was written can be read");
  expect(again->shape == array->shape && again->dtype.code == array->dtype.code &&
             again->dtype.bits == array->dtype.bits && again->dtype.lanes == array->dtype.lanes,
         "dtype and shape are read back unchanged");
  expect(std::ranges::equal(again->data, array->data), "data are read back unchanged");
  return 0;
}
