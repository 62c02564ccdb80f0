// SPDX-License-Identifier: Apache-2.0
//
// Runs of the digits network through the C API.
#pragma once

#include "tests/unit/embed/embedded.hpp"

#include <cmath>

namespace gantry::test {

inline std::span<float> floats(const gantry_value& value) {
  const gantry_tensor& tensor = *gantry_value_tensor(&value);
  std::size_t count = 1;
  for (const std::int64_t extent : shape_of(tensor)) count *= static_cast<std::size_t>(extent);
  return {static_cast<float*>(tensor.data), count};
}

inline gantry_run new_run() {
  gantry_run run{};
  run.struct_size = sizeof run;
  return run;
}
// A run of one input and one output, both borrowed.
inline gantry_run new_run(const gantry_value& input, gantry_value& output) {
  gantry_run run = new_run();
  run.inputs = &input;
  run.input_count = 1;
  run.outputs = &output;
  run.output_count = 1;
  return run;
}

// The digits network, a graph with one input float32[1, 64] and one output float32[1, 10].
class EmbedRun : public Embedded {
 protected:
  EmbedRun()
      : images(golden_tensor("tvm-0.12/digits_mlp.input.npz")),
        expected(golden_tensor("tvm-0.12/digits_mlp_llvm.expected.npz")),
        model(model_of("tvm-0.12/digits_mlp_llvm.so")) {}

  // Image i as a borrowed tensor.
  gantry_tensor image(std::size_t i) const {
    gantry_tensor row = *images.tensor();
    row.data = floats(images.get()).data() + 64 * i;
    row.ndim = 2;
    ++row.shape;
    return row;
  }
  std::span<const float> scores(std::size_t i) const {
    return floats(expected.get()).subspan(10 * i, 10);
  }
  static void expect_near(std::span<const float> found, std::span<const float> wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k)
      EXPECT_LE(std::abs(found[k] - wanted[k]), 1e-6f * std::abs(wanted[k])) << k;
  }
  // Runs the model with one input and one output.
  Status run_with(const gantry_value& input, gantry_value& output) {
    gantry_run run = new_run(input, output);
    return test::run(model, run);
  }
  Value score(std::size_t i) {
    gantry_tensor row = image(i);
    gantry_value output{};
    expect_ok(run_with(tensor_ref_value(&row), output));
    return Value::adopt(output);
  }

  Value images, expected;
  ObjectRef model;
};

}  // namespace gantry::test
