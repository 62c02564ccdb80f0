// SPDX-License-Identifier: Apache-2.0
//
// Sub-graphs of artifacts that Apache TVM exported for oneDNN and for TensorRT, on the CPU.
#include "tests/golden/golden_array.hpp"

#include <gantry/embed/executor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace gantry {
namespace {

using test::golden;

struct SubgraphArtifact {
  const char* name;
  // the outputs to compare with
  const char* expected;
};

class SubgraphGolden : public ::testing::TestWithParam<SubgraphArtifact> {};

TEST_P(SubgraphGolden, DigitsMatchTvm) {
  Runtime runtime = test::new_runtime();
  const auto module = runtime.load(golden(concat("tvm-0.12/", GetParam().name, ".so")).string());
  ASSERT_TRUE(module.ok()) << module.error().message;
  Executor executor = Executor::create(runtime, *module, {"cpu"}).value();
  const Tensor inputs = test::golden_array(runtime, "tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected = test::golden_array(
      runtime, concat("tvm-0.12/", GetParam().expected, ".expected.npz"), "output");

  // Counts those that differ: a NaN would disappear in a maximum.
  int wrong = 0;
  for (std::int64_t i = 0; i < inputs.shape()[0]; ++i) {
    ASSERT_TRUE(executor.set_input("x", *inputs.row(i)).ok());
    const Status done = executor.run();
    ASSERT_TRUE(done.ok()) << done.error().message;
    const Tensor output = executor.output(0).value();
    const Tensor row = expected.row(i).value();
    for (std::size_t k = 0; k < row.elements<float>().size(); ++k) {
      const double wanted = row.elements<float>()[k];
      const double difference = std::abs(output.elements<float>()[k] - wanted) / wanted;
      if (!(difference <= 1e-4)) ++wrong;
    }
  }

  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Of, SubgraphGolden,
                         ::testing::Values(SubgraphArtifact{"digits_mlp_dnnl", "digits_mlp_dnnl"},
                                           SubgraphArtifact{"digits_mlp_tensorrt",
                                                            "digits_mlp_llvm"}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Subgraphs, RunInExecutorsOfSeveralThreads) {
  Runtime runtime = test::new_runtime();
  const auto module = runtime.load(golden("tvm-0.12/digits_mlp_dnnl.so").string());
  ASSERT_TRUE(module.ok()) << module.error().message;
  const Tensor inputs = test::golden_array(runtime, "tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected =
      test::golden_array(runtime, "tvm-0.12/digits_mlp_dnnl.expected.npz", "output");

  std::vector<double> largest(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < largest.size(); ++t) {
    threads.emplace_back([&, t] {
      Executor executor = Executor::create(runtime, *module, {"cpu"}).value();
      for (std::int64_t i = static_cast<std::int64_t>(t); i < 80; i += 4) {
        if (!executor.set_input("x", *inputs.row(i)).ok() || !executor.run().ok()) {
          largest[t] = INFINITY;
          return;
        }
        const Tensor row = expected.row(i).value();
        largest[t] = std::max(
            largest[t],
            test::largest_difference(row.elements<float>(), executor.output(0)->elements<float>()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(largest, ::testing::Each(::testing::Le(1e-5)));
}

}  // namespace
}  // namespace gantry
