// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda_libraries/world.hpp"

#include <bit>
#include <optional>

namespace gantry::cuda_libraries::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* conv2d = "tvm.contrib.cudnn.conv2d.forward";
constexpr const char* conv3d = "tvm.contrib.cudnn.conv3d.forward";
constexpr const char* biased = "tvm.contrib.cudnn.conv2d+bias+act.forward";
constexpr const char* backward_data = "tvm.contrib.cudnn.conv2d.backward_data";
constexpr const char* backward_filter = "tvm.contrib.cudnn.conv2d.backward_filter";
constexpr const char* forward_find = "tvm.contrib.cudnn.conv.forward_find_algo";

// The arguments of a convolution, but for the tensors.
struct Geometry {
  int mode = 1, layout = 0, algorithm = 1;
  // of h and w
  std::vector<int> pads{0, 0}, strides{1, 1}, dilations{1, 1};
  const char* sums = "float32";
  int groups = 1;
};

// 3 x 3 with 2 x 2
class CudaConvolutions : public World {
 protected:
  using Tensors = std::vector<Tensor*>;

  static std::vector<gantry_value> arguments(const Geometry& of, const Tensors& tensors,
                                             std::vector<gantry_value> activation = {}) {
    std::vector<gantry_value> args{int_value(of.mode), int_value(of.layout),
                                   int_value(of.algorithm)};
    for (const auto* numbers : {&of.pads, &of.strides, &of.dilations}) {
      for (const int number : *numbers) args.push_back(int_value(number));
    }
    args.insert(args.end(), activation.begin(), activation.end());
    for (Tensor* const tensor : tensors) args.push_back(tensor->value());
    args.insert(args.end(), {cstring_value(of.sums), int_value(of.groups)});
    return args;
  }
  std::vector<gantry_value> arguments(const Geometry& of = {}) const {
    return arguments(of, {x.get(), w.get(), y.get()});
  }
  std::vector<gantry_value> biased_arguments(Tensor* bias, int activation,
                                             int algorithm = 1) const {
    Geometry of;
    of.algorithm = algorithm;
    return arguments(of, {x.get(), w.get(), bias, y.get()},
                     {int_value(activation), float_value(0)});
  }
  std::vector<float> result() const { return y->values<float>(4); }
  const FakeCudnnCall& last() const { return libraries.cudnn_calls.back(); }

  std::unique_ptr<Tensor> x = floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  std::unique_ptr<Tensor> w = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  std::unique_ptr<Tensor> y = floats({1, 1, 2, 2}, {-1, -1, -1, -1});
};

TEST_F(CudaConvolutions, AreInTheStreamOfTheCall) {
  env.stream = new_stream();

  done(conv2d, arguments());

  EXPECT_EQ(last().stream, env.stream);
  synchronize();
  EXPECT_THAT(result(), Each(-1)) << "it is in another stream, and the call does not wait";
  synchronize(env.stream);
  EXPECT_THAT(result(), ElementsAre(37, 47, 67, 77));
  device().stream_destroy(self, 0, env.stream);
}

TEST_F(CudaConvolutions, ReverseTheirFilterInModeZero) {
  Geometry flipped;
  flipped.mode = 0;

  done(conv2d, arguments(flipped));

  synchronize();
  EXPECT_THAT(result(), ElementsAre(23, 33, 53, 63));
}

// Data NHWC, filters OHWI.
TEST_F(CudaConvolutions, HaveChannelsLast) {
  Geometry last;
  last.layout = 1;
  const auto pixels = floats({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto filters = floats({2, 1, 1, 2}, {1, 10, 100, 1000});
  const auto out = floats({1, 2, 2, 2}, std::vector<float>(8));

  done(conv2d, arguments(last, {pixels.get(), filters.get(), out.get()}));

  synchronize();
  EXPECT_THAT(out->values<float>(8), ElementsAre(21, 2100, 43, 4300, 65, 6500, 87, 8700));
}

// Pads, strides and dilations that differ in both axes.
TEST_F(CudaConvolutions, HaveAWindow) {
  Geometry window;
  window.pads = {1, 0};
  window.strides = {2, 1};
  window.dilations = {1, 2};
  const auto wide = floats({1, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});

  done(conv2d, arguments(window, {wide.get(), w.get(), y.get()}));

  synchronize();
  EXPECT_THAT(result(), ElementsAre(15, 22, 90, 100));
}

TEST_F(CudaConvolutions, HaveGroups) {
  Geometry groups;
  groups.groups = 2;
  const auto pixel = floats({1, 2, 1, 1}, {2, 3}), filters = floats({2, 1, 1, 1}, {5, 7});
  const auto out = floats({1, 2, 1, 1}, {0, 0});

  done(conv2d, arguments(groups, {pixel.get(), filters.get(), out.get()}));

  synchronize();
  EXPECT_THAT(out->values<float>(2), ElementsAre(10, 21));
  EXPECT_EQ(last().groups, 2);
}

TEST_F(CudaConvolutions, OfVolumes) {
  Geometry three;
  three.pads = {0, 0, 0};
  three.strides = three.dilations = {1, 1, 1};
  const auto volume = floats({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto filter = floats({1, 1, 2, 1, 1}, {1, 10});
  const auto out = floats({1, 1, 1, 2, 2}, std::vector<float>(4));

  done(conv3d, arguments(three, {volume.get(), filter.get(), out.get()}));

  synchronize();
  EXPECT_THAT(out->values<float>(4), ElementsAre(51, 62, 73, 84));
  three.layout = 1;
  EXPECT_THAT(
      std::string(error_of(conv3d, arguments(three, {volume.get(), filter.get(), out.get()}))
                      .message.text()),
      HasSubstr("argument 1 (layout) is 1, expected a number from 0 to 0"));
}

TEST_F(CudaConvolutions, ReadOffsets) {
  const auto longer = floats({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  longer->tensor.byte_offset = sizeof(float);

  done(conv2d, arguments({}, {longer.get(), w.get(), y.get()}));

  synchronize();
  EXPECT_THAT(result(), ElementsAre(37, 47, 67, 77));
}

TEST_F(CudaConvolutions, WithoutElementsNeedNoLibrary) {
  host.options["cudnn"] = "/nowhere/libcudnn.so";
  const auto none = floats({0, 1, 3, 3}, {}), out = floats({0, 1, 2, 2}, {});

  done(conv2d, arguments({}, {none.get(), w.get(), out.get()}));

  EXPECT_THAT(libraries.calls, IsEmpty());
}

// ---- gradients

TEST_F(CudaConvolutions, HaveAGradientOfTheirData) {
  const auto dy = floats({1, 1, 2, 2}, {1, 10, 100, 1000});
  const auto dx = floats({1, 1, 3, 3}, std::vector<float>(9));

  done(backward_data, arguments({}, {dy.get(), w.get(), dx.get()}));

  synchronize();
  EXPECT_THAT(dx->values<float>(9), ElementsAre(1, 12, 20, 103, 1234, 2040, 300, 3400, 4000));
  EXPECT_EQ(last().function, "cudnnConvolutionBackwardData");
}

TEST_F(CudaConvolutions, HaveAGradientOfTheirFilter) {
  const auto dy = floats({1, 1, 2, 2}, {1, 10, 100, 1000});

  done(backward_filter, arguments({}, {dy.get(), x.get(), w.get()}));

  synchronize();
  EXPECT_THAT(w->values<float>(4), ElementsAre(5421, 6532, 8754, 9865));
  EXPECT_EQ(last().function, "cudnnConvolutionBackwardFilter");
}

// ---- bias and activation

TEST_F(CudaConvolutions, AddABiasBeforeTheirActivation) {
  constexpr int relu = 1, identity = 5;
  const auto bias = floats({1}, {-40});

  done(biased, biased_arguments(bias.get(), relu, 0));
  synchronize();
  EXPECT_THAT(result(), ElementsAre(0, 7, 27, 37));
  EXPECT_EQ(last().algorithm, 0);

  done(biased, biased_arguments(bias.get(), identity, 0));
  synchronize();
  EXPECT_THAT(result(), ElementsAre(-3, 7, 27, 37));
  EXPECT_EQ(last().algorithm, 1) << "the only one that the library has without an activation";
}

TEST_F(CudaConvolutions, RefuseABiasThatDoesNotFit) {
  const auto two = floats({2}, {1, 2});
  const auto halves = on_device<_Float16>({1}, {_Float16(1)}, dtypes::float16);
  const auto elsewhere = on_device<float>({1}, {1}, dtypes::float32, 1);
  for (Tensor* const wrong : {two.get(), halves.get()}) {
    EXPECT_THAT(std::string(error_of(biased, biased_arguments(wrong, 1)).message.text()),
                HasSubstr("argument 13 (bias) is a tensor, expected a tensor of 1 elements of "
                          "float32"));
  }
  EXPECT_THAT(std::string(error_of(biased, biased_arguments(elsewhere.get(), 1)).message.text()),
              HasSubstr("tensors are on cuda:0 and cuda:1, expected one device"));
  EXPECT_THAT(std::string(error_of(biased, biased_arguments(two.get(), 7)).message.text()),
              HasSubstr("argument 9 (activation) is 7, expected a number from 0 to 6"));
  EXPECT_THAT(libraries.calls, IsEmpty());
}

// ---- types

struct ConvolutionTypeCase {
  gantry_dtype input, output;
  const char* sums;
  // cudnnDataType_t and cudnnMathType_t
  int compute, math;
};
class CudaConvolutionTypes : public CudaConvolutions,
                             public ::testing::WithParamInterface<ConvolutionTypeCase> {
 protected:
  std::unique_ptr<Tensor> pixel(gantry_dtype type, float value) {
    const std::vector<std::int64_t> shape{1, 1, 1, 1};
    if (same_dtype(type, dtypes::float64)) return on_device<double>(shape, {double{value}}, type);
    if (same_dtype(type, dtypes::float32)) return on_device<float>(shape, {value}, type);
    if (same_dtype(type, dtypes::float16))
      return on_device<_Float16>(shape, {_Float16(value)}, type);
    if (same_dtype(type, dtypes::int8))
      return on_device<std::int8_t>(shape, {static_cast<std::int8_t>(value)}, type);
    return on_device<std::uint16_t>(
        shape, {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)}, type);
  }
  static double value_of(const Tensor& tensor) {
    const gantry_dtype type = tensor.tensor.dtype;
    if (same_dtype(type, dtypes::float64)) return *tensor.data<double>();
    if (same_dtype(type, dtypes::float32)) return static_cast<double>(*tensor.data<float>());
    if (same_dtype(type, dtypes::float16)) return static_cast<double>(*tensor.data<_Float16>());
    if (same_dtype(type, dtypes::int8)) return *tensor.data<std::int8_t>();
    return static_cast<double>(
        std::bit_cast<float>(std::uint32_t{*tensor.data<std::uint16_t>()} << 16));
  }
};

TEST_P(CudaConvolutionTypes, AreComputedAs) {
  const ConvolutionTypeCase& of = GetParam();
  Geometry geometry;
  geometry.sums = of.sums;
  const auto from = pixel(of.input, 3), tap = pixel(of.input, -5), to = pixel(of.output, 1);

  done(conv2d, arguments(geometry, {from.get(), tap.get(), to.get()}));

  synchronize();
  EXPECT_EQ(value_of(*to), -15);
  EXPECT_EQ(last().compute, of.compute);
  EXPECT_EQ(last().math, of.math);
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaConvolutionTypes,
    ::testing::Values(ConvolutionTypeCase{dtypes::float32, dtypes::float32, "float32", 0, 3},
                      ConvolutionTypeCase{dtypes::float64, dtypes::float64, "float64", 1, 0},
                      ConvolutionTypeCase{dtypes::float16, dtypes::float16, "float16", 0, 1},
                      ConvolutionTypeCase{dtypes::bfloat16, dtypes::bfloat16, "float32", 0, 1},
                      ConvolutionTypeCase{dtypes::int8, dtypes::int8, "int32", 4, 1},
                      ConvolutionTypeCase{dtypes::int8, dtypes::float32, "int32", 4, 1}),
    [](const auto& test) {
      return dtype_text(test.param.input) + "_" + dtype_text(test.param.output);
    });

// ---- algorithms, workspaces, captures, handles

TEST_F(CudaConvolutions, HaveTheWorkspaceOfTheirAlgorithm) {
  done(conv2d, arguments());

  EXPECT_EQ(last().algorithm, 1);
  EXPECT_EQ(last().workspace_bytes, 4096u);
  EXPECT_EQ(driver.count_of("cuMemAllocFromPoolAsync"), 1u);
  EXPECT_EQ(driver.count_of("cuMemFreeAsync"), 1u);
  EXPECT_EQ(driver.count_of("cuStreamSynchronize"), 0u);

  Geometry without;
  without.algorithm = 0;
  done(conv2d, arguments(without));

  EXPECT_EQ(last().workspace_bytes, 0u);
  EXPECT_EQ(driver.count_of("cuMemAllocFromPoolAsync"), 1u);
  synchronize();
}

// Algorithm -1: the fastest whose workspace is not larger than the option, else that with the smallest.
TEST_F(CudaConvolutions, LeaveTheirAlgorithmToTheLibrary) {
  struct Case {
    std::int64_t mib;
    std::vector<FakeAlgorithm> algorithms;
    int chosen;
  };
  Geometry any;
  any.algorithm = -1;
  for (const Case& one :
       {Case{32, {{7, 0, 4096}, {0, 0, 0}}, 7}, Case{0, {{7, 0, 4096}, {0, 0, 0}}, 0},
        Case{32, {{7, 3000, 0}, {2, 0, 512}}, 2},
        Case{0, {{7, 0, 4096}, {2, 0, 512}, {6, 0, 1024}}, 2}}) {
    host.options["workspace_mib"] = one.mib;
    libraries.algorithms = one.algorithms;
    open();

    done(conv2d, arguments(any));

    EXPECT_EQ(last().algorithm, one.chosen);
    EXPECT_EQ(libraries.count_of("cudnnFindConvolutionForwardAlgorithm"), 0u)
        << "nothing is measured";
  }
  synchronize();
}

TEST_F(CudaConvolutions, NeedAnAlgorithm) {
  Geometry any;
  any.algorithm = -1;
  libraries.algorithms = {};
  EXPECT_THAT(std::string(error_of(conv2d, arguments(any)).message.text()),
              HasSubstr("cudnnGetConvolutionForwardAlgorithm_v7: no algorithm"));
  libraries.algorithms = {{1, 3000, 0}};
  const Error error = error_of(conv2d, arguments(any));
  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_THAT(
      std::string(error.message.text()),
      HasSubstr("cudnnGetConvolutionForwardAlgorithm_v7: CUDNN_STATUS_NOT_SUPPORTED (3000)"));
}

// A graph runs its work later, when memory of the call is freed.
TEST_F(CudaConvolutions, OfCapturedStreamsHaveNoWorkspace) {
  env.stream = new_stream();
  void* graph = nullptr;
  ASSERT_EQ(device().capture_begin(self, 0, env.stream, nullptr), GANTRY_OK);
  done(conv2d, arguments());
  ASSERT_EQ(device().capture_end(self, 0, env.stream, &graph, nullptr), GANTRY_OK);
  EXPECT_EQ(last().algorithm, 0);
  EXPECT_EQ(last().workspace_bytes, 0u);
  for (const float first : {1.0f, 2.0f}) {
    x->data<float>()[0] = first;
    ASSERT_EQ(device().capture_launch(self, 0, graph, env.stream, nullptr), GANTRY_OK);
    synchronize(env.stream);
    EXPECT_EQ(result()[0], 36 + first);
  }
  device().capture_destroy(self, 0, graph);

  libraries.algorithms = {{1, 0, 4096}};
  ASSERT_EQ(device().capture_begin(self, 0, env.stream, nullptr), GANTRY_OK);
  const Error error = error_of(conv2d, arguments());
  ASSERT_EQ(device().capture_end(self, 0, env.stream, &graph, nullptr), GANTRY_OK);
  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "CAPTURE");
  EXPECT_THAT(std::string(error.message.text()), HasSubstr(" needs 4096 bytes or more"));
  device().capture_destroy(self, 0, graph);
  device().stream_destroy(self, 0, env.stream);
}

TEST_F(CudaConvolutions, KeepOneHandleForEachDevice) {
  for (int i = 0; i < 3; ++i) done(conv2d, arguments());
  EXPECT_EQ(libraries.count_of("cudnnCreate"), 1u);

  const auto one = on_device<float>({1, 1, 1, 1}, {3}, dtypes::float32, 1);
  done(conv2d, arguments({}, {one.get(), one.get(), one.get()}));

  EXPECT_EQ(libraries.count_of("cudnnCreate"), 2u);
  synchronize();
  synchronize(nullptr, 1);
  EXPECT_EQ(*one->data<float>(), 9);
}

TEST_F(CudaConvolutions, RecordTheLibraryInTheTrace) {
  host.tracing = true;
  open();

  done(conv2d, arguments());

  EXPECT_THAT(host.spans, ElementsAre("library:conv2d.forward with " GANTRY_FAKE_CUDA_LIBRARIES));
  synchronize();
}

// ---- searches

class CudaConvolutionSearches : public CudaConvolutions {
 protected:
  // The numbers as TVM's Python passes them.
  std::vector<gantry_value> search(std::vector<int>& a, std::vector<int>& b, std::vector<int>& c) {
    const auto address = [](std::vector<int>& numbers) {
      gantry_value value{};
      value.kind = GANTRY_POINTER;
      value.p = numbers.data();
      return value;
    };
    return {int_value(0),
            int_value(2),
            address(zeros),
            address(ones),
            address(ones),
            address(a),
            address(b),
            address(c),
            cstring_value("float32"),
            cstring_value("float32"),
            int_value(1),
            bool_value(true)};
  }
  std::vector<int> zeros{0, 0}, ones{1, 1};
  std::vector<int> data{1, 1, 3, 3}, filter{1, 1, 2, 2}, output{1, 1, 2, 2};
};

TEST_F(CudaConvolutionSearches, MeasureTheAlgorithms) {
  libraries.algorithms = {{5, 0, 1}, {0, 0, 0}};
  struct Case {
    const char* name;
    const char* function;
    std::vector<gantry_value> args;
  };
  for (const Case& one :
       {Case{forward_find, "cudnnFindConvolutionForwardAlgorithm", search(data, filter, output)},
        Case{"tvm.contrib.cudnn.conv.backward_data_find_algo",
             "cudnnFindConvolutionBackwardDataAlgorithm", search(output, filter, data)},
        Case{"tvm.contrib.cudnn.conv.backward_filter_find_algo",
             "cudnnFindConvolutionBackwardFilterAlgorithm", search(output, data, filter)}}) {
    const auto found = call(one.name, one.args);

    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(value_int(found->get()), 5) << one.name;
    EXPECT_EQ(libraries.count_of(one.function), 1u);
  }
}

TEST_F(CudaConvolutionSearches, NeedNumbersThatFit) {
  struct Case {
    std::size_t at;
    gantry_value value;
    const char* text;
  };
  gantry_value nowhere{};
  nowhere.kind = GANTRY_POINTER;
  std::vector<int> negative{1, 1, -3, 3};
  gantry_value wrong = nowhere;
  wrong.p = negative.data();
  for (const Case& one :
       {Case{1, int_value(4), "argument 1 (rank) is 4, expected a number from 2 to 3"},
        Case{0, int_value(2), "argument 0 (layout) is 2, expected a number from 0 to 1"},
        Case{2, nowhere, "argument 2 (pads) is "}, Case{5, int_value(1), "argument 5 (x) is "},
        Case{5, wrong, "argument 5 (x) has -3, expected numbers from 1"},
        Case{8, cstring_value("int16"), "expected elements of float16, bfloat16, float32"},
        Case{9, cstring_value("float64"),
             "is float64, expected float32 for a convolution of float32"},
        Case{10, int_value(2), "is no float32[1, 1, 2, 2]"}}) {
    std::vector<gantry_value> args = search(data, filter, output);
    args[one.at] = one.value;

    EXPECT_THAT(std::string(error_of(forward_find, args).message.text()), HasSubstr(one.text));
  }
  EXPECT_THAT(libraries.calls, IsEmpty());
}

TEST_F(CudaConvolutionSearches, AreNotCaptured) {
  env.stream = new_stream();
  ASSERT_EQ(device().capture_begin(self, 0, env.stream, nullptr), GANTRY_OK);

  EXPECT_EQ(error_of(forward_find, search(data, filter, output)).reason, "CAPTURE");

  void* graph = nullptr;
  ASSERT_EQ(device().capture_end(self, 0, env.stream, &graph, nullptr), GANTRY_OK);
  device().capture_destroy(self, 0, graph);
  device().stream_destroy(self, 0, env.stream);
}

TEST_F(CudaConvolutionSearches, FindNoAlgorithm) {
  libraries.algorithms = {};
  EXPECT_THAT(std::string(error_of(forward_find, search(data, filter, output)).message.text()),
              HasSubstr("cudnnFindConvolutionForwardAlgorithm: no algorithm"));
  libraries.algorithms = {{1, 3000, 0}};
  EXPECT_EQ(error_of(forward_find, search(data, filter, output)).native_code, 3000);
}

TEST_F(CudaConvolutions, ExistWithALibraryAndAGpu) {
  const auto exists = [&] {
    const auto found = call("tvm.contrib.cudnn.exists", {});
    return found.ok() ? value_int(found->get()) : std::nullopt;
  };
  libraries.failing["cudnnCreate"] = 1001;
  EXPECT_EQ(exists(), 0);
  libraries.failing.clear();
  EXPECT_EQ(exists(), 1);
  host.options["cudnn"] = "/nowhere/libcudnn.so";
  open();
  EXPECT_EQ(exists(), 0);
}

// ---- failures

struct CudnnFailureCase {
  const char* function;
  int status;
  Code code;
  const char* text;
};
class CudaConvolutionFailures : public CudaConvolutions,
                                public ::testing::WithParamInterface<CudnnFailureCase> {};

TEST_P(CudaConvolutionFailures, HaveTheNameOfTheLibrary) {
  const CudnnFailureCase& failure = GetParam();
  libraries.failing[failure.function] = failure.status;
  const auto bias = floats({1}, {1});
  const bool is_biased = std::string_view(failure.function).find("Activation") != std::string::npos;

  const Error error =
      is_biased ? error_of(biased, biased_arguments(bias.get(), 1)) : error_of(conv2d, arguments());

  EXPECT_EQ(error.code, failure.code);
  EXPECT_EQ(error.reason, "DRIVER_CALL");
  EXPECT_EQ(error.native_domain, "cuDNN");
  EXPECT_EQ(error.native_code, failure.status);
  EXPECT_EQ(std::string(error.message.text()),
            concat(failure.function, ": ", failure.text,
                   "\n  in a convolution of float32[1, 1, 3, 3] with float32[1, 1, 2, 2]"));
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaConvolutionFailures,
    ::testing::Values(
        CudnnFailureCase{"cudnnCreate", 1001, Code::unavailable,
                         "CUDNN_STATUS_NOT_INITIALIZED (1001)"},
        CudnnFailureCase{"cudnnCreateTensorDescriptor", 2, Code::exhausted,
                         "CUDNN_STATUS_ALLOC_FAILED (2)"},
        CudnnFailureCase{"cudnnCreateFilterDescriptor", 4004, Code::exhausted,
                         "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED (4004)"},
        CudnnFailureCase{"cudnnCreateConvolutionDescriptor", 2, Code::exhausted,
                         "CUDNN_STATUS_ALLOC_FAILED (2)"},
        CudnnFailureCase{"cudnnCreateActivationDescriptor", 2, Code::exhausted,
                         "CUDNN_STATUS_ALLOC_FAILED (2)"},
        CudnnFailureCase{"cudnnSetStream", 2000, Code::invalid, "CUDNN_STATUS_BAD_PARAM (2000)"},
        CudnnFailureCase{"cudnnSetConvolution2dDescriptor", 2000, Code::invalid,
                         "CUDNN_STATUS_BAD_PARAM (2000)"},
        CudnnFailureCase{"cudnnSetTensor4dDescriptor", 2000, Code::invalid,
                         "CUDNN_STATUS_BAD_PARAM (2000)"},
        CudnnFailureCase{"cudnnSetFilter4dDescriptor", 2000, Code::invalid,
                         "CUDNN_STATUS_BAD_PARAM (2000)"},
        CudnnFailureCase{"cudnnSetConvolutionGroupCount", 9, Code::unsupported,
                         "CUDNN_STATUS_NOT_SUPPORTED (9)"},
        CudnnFailureCase{"cudnnSetConvolutionMathType", 3000, Code::unsupported,
                         "CUDNN_STATUS_NOT_SUPPORTED (3000)"},
        CudnnFailureCase{"cudnnGetConvolutionForwardWorkspaceSize", 3000, Code::unsupported,
                         "CUDNN_STATUS_NOT_SUPPORTED (3000)"},
        CudnnFailureCase{"cudnnConvolutionForward", 5000, Code::unavailable,
                         "CUDNN_STATUS_EXECUTION_FAILED (5000)"},
        CudnnFailureCase{"cudnnSetActivationDescriptor", 2000, Code::invalid,
                         "CUDNN_STATUS_BAD_PARAM (2000)"},
        CudnnFailureCase{"cudnnConvolutionBiasActivationForward", 77, Code::unavailable,
                         "CUDNN_UNKNOWN_STATUS (77)"}));

TEST_F(CudaConvolutions, ReportAMissingLibrary) {
  host.options["cudnn"] = "/nowhere/libcudnn.so";

  const Error error = error_of(conv2d, arguments());

  EXPECT_EQ(error.reason, "DRIVER_MISSING");
  EXPECT_THAT(std::string(error.message.text()),
              HasSubstr("the plugin's option cudnn names this file"));
}

TEST_F(CudaConvolutions, RefuseArgumentsThatDoNotFit) {
  const auto message = [&](const Geometry& of, const Tensors& tensors, const char* name = conv2d) {
    return std::string(error_of(name, arguments(of, tensors)).message.text());
  };
  const auto changed = [&](const auto& change) {
    Geometry of;
    change(of);
    return message(of, {x.get(), w.get(), y.get()});
  };
  EXPECT_THAT(changed([](Geometry& of) { of.mode = 2; }),
              HasSubstr("argument 0 (mode) is 2, expected a number from 0 to 1"));
  EXPECT_THAT(changed([](Geometry& of) { of.layout = 2; }),
              HasSubstr("argument 1 (layout) is 2, expected a number from 0 to 1"));
  EXPECT_THAT(changed([](Geometry& of) { of.algorithm = -2; }),
              HasSubstr("argument 2 (algorithm) is -2, expected a number from -1"));
  EXPECT_THAT(changed([](Geometry& of) {
                of.pads = {0, -1};
              }),
              HasSubstr("argument 4 (pad_w) is -1, expected a number from 0"));
  EXPECT_THAT(changed([](Geometry& of) {
                of.strides = {0, 1};
              }),
              HasSubstr("argument 5 (stride_h) is 0, expected a number from 1"));
  EXPECT_THAT(changed([](Geometry& of) {
                of.dilations = {1, 0};
              }),
              HasSubstr("argument 8 (dilation_w) is 0, expected a number from 1"));
  EXPECT_THAT(changed([](Geometry& of) { of.groups = 0; }),
              HasSubstr("argument 13 (groups) is 0, expected a number from 1"));
  EXPECT_THAT(changed([](Geometry& of) { of.sums = "float64"; }),
              HasSubstr("argument 12 (sum_dtype) is float64, expected float32 for a convolution of "
                        "float32"));
  EXPECT_THAT(changed([](Geometry& of) {
                of.dilations = {3, 1};
              }),
              HasSubstr("a convolution of float32[1, 1, 3, 3] with float32[1, 1, 2, 2] in 1 groups "
                        "is no float32[1, 1, 2, 2]"));
  EXPECT_THAT(changed([](Geometry& of) { of.pads = {2147483647, 0}; }), HasSubstr("is no float32"));
  EXPECT_THAT(changed([](Geometry& of) { of.groups = 2; }), HasSubstr("in 2 groups is no"));

  float number = 0;
  Tensor cpu;
  cpu.shape = {1, 1, 1, 1};
  cpu.tensor = compact_tensor(dtypes::float32, cpu.shape, gantry::test::cpu, &number);
  const auto flat = floats({9}, std::vector<float>(9)), none = floats({1, 0, 3, 3}, {});
  const auto other = on_device<float>({1, 1, 2, 2}, std::vector<float>(4), dtypes::float32, 1);
  const auto bytes =
      on_device<std::int8_t>({1, 1, 2, 2}, std::vector<std::int8_t>(4), dtypes::int8);
  const auto words =
      on_device<std::int16_t>({1, 1, 3, 3}, std::vector<std::int16_t>(9), dtypes::int16);
  EXPECT_THAT(message({}, {&cpu, w.get(), y.get()}),
              HasSubstr("argument 9 (x) is a tensor, expected a compact tensor on a device cuda"));
  EXPECT_THAT(message({}, {flat.get(), w.get(), y.get()}),
              HasSubstr("argument 9 (x) is a tensor, expected a tensor of rank 4"));
  EXPECT_THAT(message({}, {none.get(), w.get(), y.get()}),
              HasSubstr("argument 9 (x) is a tensor, expected a tensor with elements"));
  EXPECT_THAT(message({}, {x.get(), other.get(), y.get()}),
              HasSubstr("tensors are on cuda:0 and cuda:1, expected one device"));
  EXPECT_THAT(message({}, {x.get(), bytes.get(), y.get()}),
              HasSubstr("argument 10 (w) is a tensor, expected a tensor of float32"));
  EXPECT_THAT(message({}, {x.get(), w.get(), bytes.get()}),
              HasSubstr("argument 11 (y) is a tensor, expected elements that a convolution of "
                        "float32 has"));
  EXPECT_THAT(message({}, {words.get(), w.get(), y.get()}),
              HasSubstr("argument 9 (x) is a tensor, expected elements of float16"));
  EXPECT_THAT(message({}, {y.get(), x.get(), w.get()}, backward_data), HasSubstr("is no float32"));
  x->tensor.shape[1] = std::int64_t{1} << 40;
  EXPECT_THAT(message({}, {x.get(), w.get(), y.get()}),
              HasSubstr("argument 9 (x) is a tensor, expected a tensor whose extents are at most "
                        "2147483647"));
  EXPECT_THAT(std::string(error_of(conv2d, {}).message.text()),
              HasSubstr("argument count is 0, expected 14"));
  EXPECT_THAT(libraries.calls, IsEmpty());
}

// The numbers of the library's descriptors are int.
TEST_F(CudaConvolutions, RefuseImagesThatAreTooLarge) {
  Geometry three;
  three.pads = {0, 0, 0};
  three.strides = three.dilations = {1, 1, 1};
  const auto volume = floats({1, 1, 1, 1, 1}, {1}), filter = floats({1, 1, 1, 1, 1}, {1});
  const auto out = floats({1, 1, 1, 1, 1}, {1});
  for (const auto& tensor : {volume.get(), out.get()})
    tensor->tensor.shape[3] = tensor->tensor.shape[4] = 1 << 16;

  EXPECT_THAT(
      std::string(error_of(conv3d, arguments(three, {volume.get(), filter.get(), out.get()}))
                      .message.text()),
      HasSubstr("an image has more than 2147483647 elements, which cuDNN does not read"));
}

}  // namespace
}  // namespace gantry::cuda_libraries::test
