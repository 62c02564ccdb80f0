// SPDX-License-Identifier: Apache-2.0
//
// Runs an assembled Relay executable over the OpenCL kernels of a graph that TVM exported.
#include "tests/golden/golden_array.hpp"
#include "tests/support/files.hpp"
#include "tests/support/relay_artifact.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gantry {
namespace {

TEST(RelayOnOpenCl, HasTvmsOutputsWithinTheTolerance) {
  Runtime runtime = test::new_runtime();
  const auto device = runtime.device("opencl");
  if (!device.ok()) GTEST_SKIP() << device.error().message;
  const test::TempDir temp;
  const std::string file = (temp / "digits.so").string();
  const Status written =
      test::write_relay_artifact_of_graph(test::golden("tvm-0.12/digits_mlp_opencl.so"), file, 4);
  ASSERT_TRUE(written.ok()) << written.error().message;
  const auto module = runtime.load(file);
  ASSERT_TRUE(module.ok()) << module.error().message;
  const auto model = runtime.model(*module, {"opencl"});
  ASSERT_TRUE(model.ok()) << model.error().message;
  ModelFunction main = model->function("main").value();
  const Tensor inputs = test::golden_array(runtime, "tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected =
      test::golden_array(runtime, "tvm-0.12/digits_mlp_opencl.expected.npz", "output");

  for (std::int64_t i = 0; i < 8; ++i) {
    const auto outputs = main.run({{"x", *inputs.row(i)}});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    const Tensor output = outputs->front().value.tensor().value();
    EXPECT_EQ(output.dlpack()->device.type, device->type);
    const Tensor found = runtime.tensor({1, 10}, dtypes::float32).value();
    ASSERT_TRUE(runtime.copy(output, found).ok());
    const Tensor row = *expected.row(i);
    EXPECT_LE(test::largest_difference(found.elements<float>(), row.elements<float>()), 1e-4) << i;
  }
}

}  // namespace
}  // namespace gantry
