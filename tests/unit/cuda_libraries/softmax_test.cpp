// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda_libraries/world.hpp"

#include <cmath>

namespace gantry::cuda_libraries::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* softmax = "tvm.contrib.cudnn.softmax.forward";
constexpr const char* log_softmax = "tvm.contrib.cudnn.log_softmax.forward";

// Logarithms, so that softmax divides 1, 3, 4 and 12 by their sums.
class CudaSoftmax : public World {
 protected:
  static float log(double value) { return static_cast<float>(std::log(value)); }
  std::unique_ptr<Tensor> x = floats({2, 2, 1}, {log(1), log(3), log(4), log(12)});
  std::unique_ptr<Tensor> y = floats({2, 2, 1}, {-1, -1, -1, -1});
};

TEST_F(CudaSoftmax, IsAlongAnAxisInTheStreamOfTheCall) {
  env.stream = new_stream();

  done(softmax, {x->value(), y->value(), int_value(1)});

  EXPECT_EQ(libraries.cudnn_calls.back().stream, env.stream);
  EXPECT_THAT(y->values<float>(4), Each(-1)) << "the call does not wait";
  synchronize(env.stream);
  EXPECT_THAT(y->values<float>(4),
              ElementsAre(FloatEq(0.25f), FloatEq(0.75f), FloatEq(0.25f), FloatEq(0.75f)));
  device().stream_destroy(self, 0, env.stream);
}

TEST_F(CudaSoftmax, IsAlongAxesBeforeTheLast) {
  done(softmax, {x->value(), y->value(), int_value(-3)});

  synchronize();
  EXPECT_THAT(y->values<float>(4),
              ElementsAre(FloatEq(0.2f), FloatEq(0.2f), FloatEq(0.8f), FloatEq(0.8f)));
}

TEST_F(CudaSoftmax, IsAlongTheLastAxisAndInPlace) {
  done(softmax, {x->value(), x->value(), int_value(2)});

  synchronize();
  EXPECT_THAT(x->values<float>(4), Each(1));
}

TEST_F(CudaSoftmax, HasLogarithms) {
  done(log_softmax, {x->value(), y->value(), int_value(1)});

  synchronize();
  EXPECT_THAT(y->values<float>(4),
              ElementsAre(FloatNear(log(0.25), 1e-6f), FloatNear(log(0.75), 1e-6f),
                          FloatNear(log(0.25), 1e-6f), FloatNear(log(0.75), 1e-6f)));
}

TEST_F(CudaSoftmax, RefusesElementsThatAreNotAligned) {
  x->tensor.byte_offset = 1;

  const Error refused = error_of(softmax, {x->value(), y->value(), int_value(1)});

  EXPECT_EQ(refused.code, Code::invalid);
  EXPECT_EQ(refused.reason, "ARGUMENT_ALIGNMENT");
}

TEST_F(CudaSoftmax, IsOfEachTypeOfFloats) {
  const auto doubles = on_device<double>({2}, {0, std::log(3)}, dtypes::float64);
  const auto halves = on_device<_Float16>({2}, {_Float16(1), _Float16(1)}, dtypes::float16);
  const auto others = on_device<std::uint16_t>({2}, {0, 0}, dtypes::bfloat16);
  for (Tensor* const tensor : {doubles.get(), halves.get(), others.get()})
    done(softmax, {tensor->value(), tensor->value(), int_value(0)});

  synchronize();
  EXPECT_NEAR(doubles->data<double>()[1], 0.75, 1e-12);
  EXPECT_EQ(static_cast<float>(halves->data<_Float16>()[1]), 0.5f);
  EXPECT_EQ(others->data<std::uint16_t>()[1], 0x3f00) << "0.5";
}

TEST_F(CudaSoftmax, OfNothingNeedsNoLibrary) {
  const auto none = floats({0, 3}, {});

  done(softmax, {none->value(), none->value(), int_value(1)});

  EXPECT_THAT(libraries.calls, IsEmpty());
}

TEST_F(CudaSoftmax, IsCaptured) {
  env.stream = new_stream();
  void* graph = nullptr;
  ASSERT_EQ(device().capture_begin(self, 0, env.stream, nullptr), GANTRY_OK);
  done(softmax, {x->value(), y->value(), int_value(1)});
  ASSERT_EQ(device().capture_end(self, 0, env.stream, &graph, nullptr), GANTRY_OK);

  ASSERT_EQ(device().capture_launch(self, 0, graph, env.stream, nullptr), GANTRY_OK);
  synchronize(env.stream);

  EXPECT_THAT(y->values<float>(1), ElementsAre(FloatEq(0.25f)));
  device().capture_destroy(self, 0, graph);
  device().stream_destroy(self, 0, env.stream);
}

TEST_F(CudaSoftmax, HasTheNamesOfTheLibrarysErrors) {
  for (const char* const function :
       {"cudnnSetStream", "cudnnSetTensor4dDescriptor", "cudnnSoftmaxForward"}) {
    libraries.failing = {{function, 3000}};

    const Error error = error_of(softmax, {x->value(), y->value(), int_value(1)});

    EXPECT_EQ(error.code, Code::unsupported);
    EXPECT_EQ(std::string(error.message.text()),
              concat(function,
                     ": CUDNN_STATUS_NOT_SUPPORTED (3000)\n  in a softmax of float32[2, 2, 1]"));
  }
}

TEST_F(CudaSoftmax, RefusesOtherTensors) {
  const auto message = [&](std::vector<gantry_value> args) {
    return std::string(error_of(softmax, std::move(args)).message.text());
  };
  const auto integers = on_device<std::int32_t>({1}, {0}, dtypes::int32);
  const auto fewer = floats({2, 1, 1}, {0, 0});
  const auto elsewhere = on_device<float>({2, 2, 1}, std::vector<float>(4), dtypes::float32, 1);
  for (const int axis : {-4, 3}) {
    EXPECT_THAT(message({x->value(), y->value(), int_value(axis)}),
                HasSubstr(concat("axis is ", axis, ", the rank of float32[2, 2, 1] is 3")));
  }
  EXPECT_THAT(message({x->value(), fewer->value(), int_value(0)}),
              HasSubstr("argument 1 (y) is a tensor, expected a tensor of float32[2, 2, 1]"));
  EXPECT_THAT(message({x->value(), elsewhere->value(), int_value(0)}),
              HasSubstr("tensors are on cuda:0 and cuda:1, expected one device"));
  EXPECT_THAT(message({integers->value(), integers->value(), int_value(0)}),
              HasSubstr("expected a tensor of float16, bfloat16, float32 or float64"));
  EXPECT_THAT(message({x->value()}), HasSubstr("argument count is 1, expected 3"));
  x->strides = {1, 2, 4};
  x->tensor.strides = x->strides.data();
  EXPECT_THAT(message({x->value(), y->value(), int_value(0)}),
              HasSubstr("expected a compact tensor on a device cuda"));
  x->tensor.strides = nullptr;
  for (Tensor* const tensor : {x.get(), y.get()}) tensor->tensor.shape[0] = std::int64_t{1} << 40;
  EXPECT_THAT(message({x->value(), y->value(), int_value(1)}),
              HasSubstr("has more than 2147483647 rows, which cuDNN does not read"));
  EXPECT_THAT(libraries.calls, IsEmpty());
}

}  // namespace
}  // namespace gantry::cuda_libraries::test
