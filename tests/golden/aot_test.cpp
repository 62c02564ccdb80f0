// SPDX-License-Identifier: Apache-2.0
//
// Ahead-of-time executors: that of an artifact which Apache TVM exported, compared with TVM's
// outputs, and one with pools of memory (aot/usmp.c).
#include "tests/golden/golden_array.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/embed/executor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace gantry {
namespace {

using test::golden;
using ::testing::ElementsAre;

class AotRun : public ::testing::Test {
 protected:
  Module load(const std::filesystem::path& file) {
    auto loaded = runtime.load(file.string());
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return *loaded;
  }
  Module digits() { return load(golden("tvm-0.12/digits_mlp_aot_llvm.so")); }
  Module usmp() { return load(test::build_tree() / "tests/aot/usmp.so"); }
  Executor executor_of(const Module& module) {
    auto made = Executor::create(runtime, module, {"cpu"});
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  }
  Tensor array(const std::string& file, std::string_view member) {
    return test::golden_array(runtime, file, member);
  }
  std::vector<float> run(Executor& executor, const std::vector<float>& x) {
    const Tensor input = runtime.tensor({1, 4}, dtypes::float32).value();
    std::memcpy(input.data(), x.data(), input.byte_size());
    EXPECT_TRUE(executor.set_input("x", input).ok());
    const Status ran = executor.run();
    EXPECT_TRUE(ran.ok()) << ran.error().message;
    const Tensor output = executor.output(0).value();
    const auto elements = output.elements<float>();
    return {elements.begin(), elements.end()};
  }

  Runtime runtime = test::new_runtime();
};

TEST_F(AotRun, DigitsMatchTvmBitForBit) {
  Executor executor = executor_of(digits());
  const Tensor inputs = array("tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected = array("tvm-0.12/digits_mlp_llvm.expected.npz", "output");

  for (std::int64_t i = 0; i < inputs.shape()[0]; ++i) {
    ASSERT_TRUE(executor.set_input("x", *inputs.row(i)).ok());
    ASSERT_TRUE(executor.run().ok());
    const Tensor row = *expected.row(i);
    ASSERT_EQ(std::memcmp(executor.output(0)->data(), row.data(), row.byte_size()), 0) << i;
  }
}

TEST_F(AotRun, RunsInMemoryOfTheCaller) {
  Executor executor = executor_of(digits());
  const Tensor input = runtime.tensor({1, 64}, dtypes::float32).value();
  const Tensor output = runtime.tensor({1, 10}, dtypes::float32).value();
  const auto bind_input = executor.module().function("set_input_zero_copy");
  const auto bind_output = executor.module().function("set_output_zero_copy");
  ASSERT_TRUE((*bind_input)("x", input).ok());
  ASSERT_TRUE((*bind_output)("output0", output).ok());
  const Tensor inputs = array("tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected = array("tvm-0.12/digits_mlp_llvm.expected.npz", "output");

  for (const std::int64_t i : {0, 7, 359}) {
    std::memcpy(input.data(), inputs.row(i)->data(), input.byte_size());
    ASSERT_TRUE(executor.run().ok());
    EXPECT_EQ(std::memcmp(output.data(), expected.row(i)->data(), output.byte_size()), 0) << i;
  }
}

TEST_F(AotRun, HasItsOutputsByTheirNames) {
  const auto model = runtime.model(digits(), {"cpu"});
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto function = model->function("");
  ASSERT_TRUE(function.ok()) << function.error().message;
  const std::vector<ParameterInfo> inputs = function->inputs().value();
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].type_text, "float32[1, 64]");
  const auto outputs = function->outputs().value();
  ASSERT_TRUE(outputs);
  EXPECT_EQ(outputs->front().name, "output");

  auto pools = runtime.model(usmp(), {"cpu"})->function("");
  ASSERT_TRUE(pools.ok()) << pools.error().message;
  const auto outputs_of_pools = pools->outputs().value();
  ASSERT_TRUE(outputs_of_pools);
  EXPECT_EQ(outputs_of_pools->front().name, "y");
}

TEST_F(AotRun, PlacesPoolsOnceForEachExecutor) {
  const Module module = usmp();
  Executor first = executor_of(module), second = executor_of(module);

  EXPECT_THAT(run(first, {10, 20, 30, 40}), ElementsAre(11, 22, 33, 44));
  EXPECT_THAT(run(first, {10, 20, 30, 40}), ElementsAre(12, 23, 34, 45));
  EXPECT_THAT(run(first, {10, 20, 30, 40}), ElementsAre(13, 24, 35, 46));
  EXPECT_THAT(run(second, {10, 20, 30, 40}), ElementsAre(11, 22, 33, 44));
}

TEST_F(AotRun, UsesOneModelOnManyThreads) {
  const Module module = digits();
  const Tensor inputs = array("tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected = array("tvm-0.12/digits_mlp_llvm.expected.npz", "output");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Executor executor = executor_of(module);
      for (std::int64_t i = t; i < 40; i += 4) {
        ASSERT_TRUE(executor.set_input("x", *inputs.row(i)).ok());
        ASSERT_TRUE(executor.run().ok());
        const Tensor row = *expected.row(i);
        EXPECT_EQ(std::memcmp(executor.output(0)->data(), row.data(), row.byte_size()), 0) << i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AotRun, DescribesItselfThroughItsMetadataModule) {
  const auto describe = digits().function("get_metadata");
  ASSERT_TRUE(describe.ok()) << describe.error().message;

  const auto metadata = (*describe)()->items();

  ASSERT_TRUE(metadata.ok());
  EXPECT_EQ(metadata->at(1).text().value(), "tvmgen_default");
}

}  // namespace
}  // namespace gantry
