// SPDX-License-Identifier: Apache-2.0
//
// Compares graph executors of artifacts that Apache TVM exported with the outputs that TVM
// computed.
#include "tests/golden/golden_array.hpp"

#include <gantry/embed/executor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gantry {
namespace {

using test::golden;

class GraphRun : public ::testing::Test {
 protected:
  Tensor array(const std::string& file, std::string_view member) {
    return test::golden_array(runtime, file, member);
  }
  Executor load(const std::string& file) {
    module = runtime.load(golden(file).string());
    EXPECT_TRUE(module.ok()) << module.error().message;
    Result<Executor> made = Executor::create(runtime, *module, {"cpu"});
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  }
  // Runs every row of the inputs; returns the largest difference from the expected rows.
  double largest_difference(Executor& executor, const std::string& input, const Tensor& inputs,
                            const Tensor& expected) {
    double largest = 0;
    for (std::int64_t i = 0; i < inputs.shape()[0]; ++i) {
      EXPECT_TRUE(executor.set_input(input, *inputs.row(i)).ok());
      EXPECT_TRUE(executor.run().ok());
      const Tensor output = executor.output(0).value();
      const Tensor wanted = expected.row(i).value();
      largest = std::max(
          largest, test::largest_difference(wanted.elements<float>(), output.elements<float>()));
    }
    return largest;
  }
  Runtime runtime = test::new_runtime();
  Result<Module> module = Module();
};

class GraphGolden : public GraphRun, public ::testing::WithParamInterface<const char*> {};

TEST_P(GraphGolden, DigitsMatchTvmBitForBit) {
  const std::string target = GetParam();
  Executor executor = load("tvm-0.12/digits_mlp_" + target + ".so");

  const double difference =
      largest_difference(executor, "x", array("tvm-0.12/digits_mlp.input.npz", "x"),
                         array("tvm-0.12/digits_mlp_" + target + ".expected.npz", "output"));

  EXPECT_EQ(difference, 0.0);
}

TEST_P(GraphGolden, ResidualNetworkMatchesTvm) {
  const std::string target = GetParam();
  Executor executor = load("tvm-0.12/resnet20_" + target + ".so");

  const double difference =
      largest_difference(executor, "data", array("tvm-0.12/resnet20.input.npz", "data"),
                         array("tvm-0.12/resnet20_" + target + ".expected.npz", "output"));

  EXPECT_LE(difference, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Host, GraphGolden, ::testing::Values("llvm", "c"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(GraphRun, ProfilesEveryOperator) {
  load("tvm-0.12/chain10.so");
  const Function create = module->function("debug_create").value();
  const Module debug = create("default", gantry_device_id{1, 0})->module().value();

  const Result<Any> times = debug.function("profile").value()();

  ASSERT_TRUE(times.ok()) << times.error().message;
  EXPECT_EQ(times->items()->size(), 2u * 10);
}

TEST_F(GraphRun, BindsInputAndOutputWithoutCopies) {
  Executor executor = load("tvm-0.12/digits_mlp_llvm.so");
  const Tensor inputs = array("tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected = array("tvm-0.12/digits_mlp_llvm.expected.npz", "output");
  const Tensor x = runtime.tensor({1, 64}, {2, 32, 1}).value();
  const Tensor y = runtime.tensor({1, 10}, {2, 32, 1}).value();
  const Function bind_input = executor.module().function("set_input_zero_copy").value();
  const Function bind_output = executor.module().function("set_output_zero_copy").value();

  ASSERT_TRUE(bind_input("x", x).ok());
  ASSERT_TRUE(bind_output(0, y).ok());
  ASSERT_TRUE(runtime.copy(*inputs.row(7), x).ok());
  ASSERT_TRUE(executor.run().ok());

  EXPECT_EQ(std::memcmp(y.data(), expected.row(7)->data(), y.byte_size()), 0);
  EXPECT_EQ(executor.output(0)->data(), y.data());
}

TEST_F(GraphRun, SharesParametersBetweenExecutorsOfOneModule) {
  Executor first = load("tvm-0.12/digits_mlp_llvm.so");
  Executor second = Executor::create(runtime, *module, {"cpu"}).value();
  const Function get_first = first.module().function("get_input").value();
  const Function get_second = second.module().function("get_input").value();
  const Tensor p0 = get_first("p0")->tensor().value();
  EXPECT_NE(p0.data(),
            // TVM's records are not aligned, so each executor has its copy
            get_second("p0")->tensor()->data());

  // A parameter list with a name and no array: share_params reads only names.
  std::string list;
  const auto add = [&](const auto& value) {
    list.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(std::uint64_t{0xF7E58D4F05049CB7}), add(std::uint64_t{0}), add(std::uint64_t{1}),
      add(std::uint64_t{2});
  list += "p0";
  add(std::uint64_t{1});
  const gantry_bytes bytes{list.data(), list.size()};
  gantry_value by_reference{};
  by_reference.kind = GANTRY_BYTES_REF;
  by_reference.bytes = &bytes;
  const Result<Any> shared =
      second.module().function("share_params").value()(first.module(), by_reference);

  ASSERT_TRUE(shared.ok()) << shared.error().message;
  EXPECT_EQ(p0.data(), get_second("p0")->tensor()->data());
}

}  // namespace
}  // namespace gantry
