// SPDX-License-Identifier: Apache-2.0
//
// The weights that a model lists in its metadata, looked up in a directory without weights.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/limits.hpp"
#include "tools/gantry/common/weight_names.hpp"

#include <gantry/dtype_text.hpp>

#include <algorithm>

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // An extent of two bytes is a value of 24 in the tree, whose list doubles when it grows.
  const Budget budget(size, {.bytes_per_input_byte = 48});
  const auto params = cli::parse_model_metadata(text_of(data, size));
  if (!params.ok()) return expect_refusal(params.error(), size);

  for (const cli::ModelParam& param : *params) {
    const TensorType& type = param.type;
    expect(type.shape.size() <= limits::array_dimensions, "the number of extents is limited");
    expect(std::ranges::all_of(type.shape, [](auto n) { return n >= -1; }),
           "an extent is symbolic or a size");
    expect(
        param.type_text.starts_with(dtype_text(type.dtype) + "[") && param.type_text.ends_with(']'),
        "the text of a type begins with its dtype");
  }
  const WeightDirectory empty{"d", "tensor-cache.json", {}};
  const auto names = cli::WeightNames(empty).of_params(*params);
  expect(names.ok() == params->empty(), "an absent weight is refused");
  return 0;
}
