// SPDX-License-Identifier: Apache-2.0
//
// The demo's kernels in C.
#include "tests/support/array_value.hpp"
#include "tests/unit/writing/demo_kernels.hpp"

#include <array>
#include <cmath>
#include <cstring>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

TEST_F(DemoKernels, DenseMultipliesAndAdds) {
  Matrix x({2, 3}, {1, 2, 3, 0, -1, 1});
  Matrix weight({2, 3}, {1, 1, 1, 2, 0, -2});
  Matrix bias({2}, {0.5, 0});
  Matrix out({2, 2});

  ASSERT_EQ(call("dense", {&x, &weight, &bias, &out}), 0) << last_error;

  EXPECT_THAT(out.values, ElementsAre(6.5, -4, 0.5, -2));
}

TEST_F(DemoKernels, DenseReluReplacesNegativesByZero) {
  Matrix x({1, 2}, {1, 2});
  Matrix weight({2, 2}, {1, 1, -1, -1});
  Matrix bias({2}, {0, 0});
  Matrix out({1, 2});

  ASSERT_EQ(call("dense_relu", {&x, &weight, &bias, &out}), 0) << last_error;

  EXPECT_THAT(out.values, ElementsAre(3, 0));
}

// 17 elements: two vectors of eight and a remainder of one.
TEST_F(DemoKernels, DenseAddsEveryElementOfARow) {
  Matrix x({1, 17}, std::vector<float>(17, 1));
  Matrix weight({1, 17});
  for (int k = 0; k < 17; ++k)
    weight.values[static_cast<std::size_t>(k)] = static_cast<float>(1 << k);
  Matrix bias({1}, {0});
  Matrix out({1, 1});

  ASSERT_EQ(call("dense", {&x, &weight, &bias, &out}), 0) << last_error;

  EXPECT_THAT(out.values, ElementsAre((1 << 17) - 1));
}

TEST_F(DemoKernels, SoftmaxReturnsProbabilitiesForAnyScores) {
  Matrix x({2, 2}, {1000, 1000, 0, std::log(3.0f)});
  Matrix out({2, 2});

  ASSERT_EQ(call("softmax", {&x, &out}), 0) << last_error;

  EXPECT_THAT(out.values, Pointwise(FloatNear(1e-6f), {0.5f, 0.5f, 0.25f, 0.75f}));
}

TEST_F(DemoKernels, ALargeLayerRunsInParallelWithTheSameResult) {
  constexpr std::int64_t size = 64;
  Matrix x({size, size}), weight({size, size}), bias({size}), alone({size, size}),
      shared({size, size});
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    x.values[i] = static_cast<float>(i % 13);
    weight.values[i] = static_cast<float>(i % 7) - 3;
  }
  ASSERT_EQ(call("dense", {&x, &weight, &bias, &alone}), 0);

  *pointer<decltype(&launch_three)>("__TVMBackendParallelLaunch") = launch_three;
  ASSERT_EQ(call("dense", {&x, &weight, &bias, &shared}), 0);

  EXPECT_EQ(launches, 1);
  EXPECT_EQ(shared.values, alone.values);
}

TEST_F(DemoKernels, ASmallLayerRunsOnOneThread) {
  *pointer<decltype(&launch_three)>("__TVMBackendParallelLaunch") = launch_three;
  Matrix x({1, 64}), weight({64, 64}), bias({64}), out({1, 64});

  ASSERT_EQ(call("dense", {&x, &weight, &bias, &out}), 0);

  EXPECT_EQ(launches, 0);
}

TEST_F(DemoKernels, StartAtTheByteOffset) {
  Matrix x({1, 2}, {1, 2});
  Matrix shifted({1, 3}, {99, 1, 2});
  shifted.shape = {1, 2};
  shifted.tensor.shape = shifted.shape.data();
  shifted.tensor.byte_offset = sizeof(float);
  Matrix out({1, 2}), from_shifted({1, 2});

  ASSERT_EQ(call("softmax", {&x, &out}), 0);
  ASSERT_EQ(call("softmax", {&shifted, &from_shifted}), 0);

  EXPECT_EQ(from_shifted.values, out.values);
}

// One invalid property of the second argument of softmax(x, out).
struct RefusedCall {
  std::string name;
  void (*spoil)(gantry_tensor&);
  std::string message;
};

TEST_F(DemoKernels, RejectTensorsWithOtherProperties) {
  static std::int64_t rank3[] = {1, 1, 2}, other[] = {1, 3}, strides[] = {1, 2};
  for (const RefusedCall& refused : {
           RefusedCall{"Device",
                       [](gantry_tensor& t) {
                         t.device = {4, 2};
                       },
                       "softmax: argument 1 is on device 4:2, argument 0 on 1:0"},
           RefusedCall{"Type",
                       [](gantry_tensor& t) {
                         t.dtype = {0, 64, 1};
                       },
                       "softmax: argument 1 has dtype code 0, 64 bits, 1 lanes, expected float32"},
           RefusedCall{"Rank", [](gantry_tensor& t) { t.ndim = 3, t.shape = rank3; },
                       "softmax: argument 1 has 3 dimensions, expected 2"},
           RefusedCall{"Strides", [](gantry_tensor& t) { t.strides = strides; },
                       "softmax: argument 1 is not compact"},
           RefusedCall{"Data", [](gantry_tensor& t) { t.data = nullptr; },
                       "softmax: argument 1 has no data"},
           RefusedCall{"Shape", [](gantry_tensor& t) { t.shape = other; },
                       "softmax: out is 1 x 3, x is 1 x 2"},
       }) {
    Matrix x({1, 2}), out({1, 2});
    refused.spoil(out.tensor);
    EXPECT_EQ(call("softmax", {&x, &out}), -1) << refused.name;
    EXPECT_EQ(last_error, refused.message);
  }
}

TEST_F(DemoKernels, RejectMissingArgumentsAndOtherTypes) {
  Matrix x({1, 2}), out({1, 2});

  EXPECT_EQ(call("softmax", {&x}), -1);
  EXPECT_EQ(last_error, "softmax: 1 arguments, expected 2");
  EXPECT_EQ(call("softmax", {&x, &out}, 0), -1);
  EXPECT_EQ(last_error, "softmax: argument 0 has type code 0, expected 7 (tensor)");
}

TEST_F(DemoKernels, RejectLayersWithDifferentShapes) {
  Matrix x({2, 3}), weight({4, 3}), narrow({4, 2}), bias({4}), short_bias({3}), out({2, 4}),
      low({1, 4});

  EXPECT_EQ(call("dense", {&x, &narrow, &bias, &out}), -1);
  EXPECT_EQ(last_error, "dense: weight has 2 columns, x has 3");
  EXPECT_EQ(call("dense_relu", {&x, &weight, &short_bias, &out}), -1);
  EXPECT_EQ(last_error, "dense_relu: bias has 3 elements, weight has 4 rows");
  EXPECT_EQ(call("dense", {&x, &weight, &bias, &low}), -1);
  EXPECT_EQ(last_error, "dense: out is 1 x 4, expected 2 x 4");
}

// The network as the recipe writes it, over the inputs and the outputs that TVM itself recorded for
// it.
TEST_F(DemoKernels, ComputeWhatTvmComputed) {
  const auto load = [&](std::string_view file, std::string_view name) {
    return std::make_unique<Matrix>(array_in(golden(file), name).header.shape,
                                    floats_in(golden(file), name));
  };
  const auto x = load("tvm-0.12/digits_mlp.input.npz", "x");
  const auto expected = load("tvm-0.12/digits_mlp_llvm.expected.npz", "output");
  // all at once
  x->shape = {360, 64};
  x->tensor.shape = x->shape.data();
  x->tensor.ndim = 2;
  Matrix hidden0({360, 64}), hidden1({360, 32}), scores({360, 10}), digits({360, 10});

  const auto layer = [&](const char* function, Matrix& in, const char* w, const char* b,
                         Matrix& out) {
    const auto weight = load("../../../tools/demo/data/mlp_weights.npz", w);
    const auto bias = load("../../../tools/demo/data/mlp_weights.npz", b);
    EXPECT_EQ(call(function, {&in, weight.get(), bias.get(), &out}), 0) << last_error;
  };
  layer("dense_relu", *x, "w0", "b0", hidden0);
  layer("dense_relu", hidden0, "w1", "b1", hidden1);
  layer("dense", hidden1, "w2", "b2", scores);
  EXPECT_EQ(call("softmax", {&scores, &digits}), 0) << last_error;

  EXPECT_THAT(digits.values, Pointwise(FloatNear(1e-5f), expected->values));
}

}  // namespace
}  // namespace gantry::test
