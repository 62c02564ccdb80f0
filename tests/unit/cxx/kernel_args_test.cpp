// SPDX-License-Identifier: Apache-2.0
#include <gantry/handle.hpp>
#include <gantry/kernel_args.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace gantry {
namespace {

constexpr gantry_dtype handle{3, 64, 1};
constexpr gantry_dtype int32{0, 32, 1};
constexpr gantry_dtype int64{0, 64, 1};
constexpr gantry_dtype uint32{1, 32, 1};
constexpr gantry_dtype float32{2, 32, 1};
constexpr gantry_dtype float64{2, 64, 1};
constexpr gantry_device_id device{4, 1};

KernelInfo info(std::vector<gantry_dtype> parameters, std::vector<std::string> tags = {}) {
  KernelInfo kernel;
  kernel.name = "add";
  kernel.parameters = std::move(parameters);
  kernel.launch_tags = std::move(tags);
  return kernel;
}

KernelCall parsed(const KernelInfo& kernel) {
  Result<KernelCall> call = KernelCall::parse(kernel);
  EXPECT_TRUE(call.ok()) << call.error().message;
  return std::move(call).value();
}

gantry_value pointer_value(void* to) {
  gantry_value value{};
  value.kind = GANTRY_POINTER;
  value.p = to;
  return value;
}

// Returns the number in an argument. The bytes after it must be zero, because all eight bytes are
// copied to the driver.
template <class Number>
Number number_in(const Result<KernelArgument>& argument) {
  Number number{};
  EXPECT_TRUE(argument.ok()) << argument.error().message;
  EXPECT_EQ(argument->size, sizeof number);
  EXPECT_TRUE(argument->is_scalar());
  std::memcpy(&number, argument->bytes.data(), sizeof number);
  for (std::size_t i = sizeof number; i < argument->bytes.size(); ++i)
    EXPECT_EQ(argument->bytes[i], 0u) << "byte " << i;
  return number;
}

Result<KernelArgument> passed(gantry_dtype type, const gantry_value& value) {
  return parsed(info({type})).argument(0, value, device);
}

TEST(KernelCall, CountsParametersAndExtents) {
  const KernelCall call = parsed(info({handle, int32}, {"blockIdx.x", "threadIdx.x"}));

  EXPECT_EQ(call.parameter_count(), 2u);
  EXPECT_EQ(call.argument_count(), 4u);
  EXPECT_TRUE(call.check_count(4).ok());
}

TEST(KernelCall, RefusesAnotherNumberOfArguments) {
  const KernelCall call = parsed(info({handle, int32}, {"blockIdx.x", "threadIdx.x"}));

  const Status status = call.check_count(3);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::invalid);
  EXPECT_EQ(status.error().offset, no_offset);
  EXPECT_EQ(status.error().reason, "ARGUMENT_COUNT");
  EXPECT_EQ(
      status.error().message,
      "kernel \"add\" is called with 3 arguments, expected 4: 2 parameters and 2 launch extents");
}

TEST(KernelCall, NarrowsNumbersToTheirTypes) {
  EXPECT_EQ(number_in<std::int32_t>(passed(int32, int_value(-7))), -7);
  EXPECT_EQ(number_in<std::uint32_t>(passed(uint32, int_value(4294967295))), 4294967295u);
  EXPECT_EQ(number_in<std::int64_t>(passed(int64, int_value(INT64_MIN))), INT64_MIN);
  EXPECT_EQ(number_in<float>(passed(float32, float_value(0.1))), 0.1f);
  EXPECT_EQ(number_in<double>(passed(float64, float_value(0.1))), 0.1);
  EXPECT_EQ(number_in<std::int32_t>(passed(int32, bool_value(true))), 1);
  EXPECT_EQ(number_in<float>(passed(float32, int_value(3))), 3.0f);
}

TEST(KernelCall, ConvertsNumbersOutOfRangeToInfinity) {
  EXPECT_EQ(number_in<float>(passed(float32, float_value(1e300))),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ(number_in<float>(passed(float32, float_value(-1e300))),
            -std::numeric_limits<float>::infinity());
}

TEST(KernelCall, PassesPointersUnchanged) {
  int there = 0;

  const auto argument = passed(handle, pointer_value(&there));

  ASSERT_TRUE(argument.ok());
  EXPECT_TRUE(argument->is_pointer());
  EXPECT_FALSE(argument->is_scalar());
  EXPECT_EQ(argument->data, &there);
  EXPECT_EQ(argument->byte_offset, 0u);
  EXPECT_EQ(passed(handle, gantry_value{})->data, nullptr);
}

TEST(KernelCall, AcceptsATensorWithItsOffset) {
  int there = 0;
  gantry_tensor tensor{};
  tensor.data = &there;
  tensor.device = device;
  tensor.byte_offset = 256;

  const auto argument = passed(handle, tensor_ref_value(&tensor));

  ASSERT_TRUE(argument.ok());
  EXPECT_EQ(argument->data, &there);
  EXPECT_EQ(argument->byte_offset, 256u);
}

TEST(KernelCall, RefusesATensorOfAnotherDevice) {
  gantry_tensor tensor{};
  tensor.device = {4, 0};

  const auto argument = passed(handle, tensor_ref_value(&tensor));

  ASSERT_FALSE(argument.ok());
  EXPECT_EQ(argument.error().code, Code::invalid);
  EXPECT_EQ(argument.error().reason, "ARGUMENT_DEVICE");
  EXPECT_EQ(argument.error().message,
            "kernel \"add\": argument 0 is a tensor on device 4:0, the call runs on 4:1");
}

struct BadArgument {
  std::string name;
  gantry_dtype type;
  gantry_value value;
  std::string reason;
  std::string message;
};

class KernelCallRefuses : public ::testing::TestWithParam<BadArgument> {};

TEST_P(KernelCallRefuses, TheArgument) {
  const BadArgument& bad = GetParam();

  const auto argument = passed(bad.type, bad.value);

  ASSERT_FALSE(argument.ok());
  EXPECT_EQ(argument.error().code, Code::invalid);
  EXPECT_EQ(argument.error().offset, no_offset);
  EXPECT_EQ(argument.error().reason, bad.reason);
  EXPECT_EQ(argument.error().message, "kernel \"add\": argument 0 is " + bad.message);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, KernelCallRefuses,
    ::testing::Values(BadArgument{"IntForPointer", handle, int_value(1), "ARGUMENT_KIND",
                                  "an integer, expected a pointer"},
                      BadArgument{"FloatForInt", int32, float_value(1), "ARGUMENT_KIND",
                                  "a float, expected an integer"},
                      BadArgument{"NoneForInt", int64, gantry_value{}, "ARGUMENT_KIND",
                                  "none, expected an integer"},
                      BadArgument{"PointerForFloat", float32, pointer_value(nullptr),
                                  "ARGUMENT_KIND", "a pointer, expected a float"},
                      BadArgument{"PastInt32", int32, int_value(2147483648), "ARGUMENT_RANGE",
                                  "2147483648, range is -2147483648 to 2147483647"},
                      BadArgument{"BelowInt32", int32, int_value(-2147483649), "ARGUMENT_RANGE",
                                  "-2147483649, range is -2147483648 to 2147483647"},
                      BadArgument{"BelowUint32", uint32, int_value(-1), "ARGUMENT_RANGE",
                                  "-1, range is 0 to 4294967295"}),
    [](const auto& test) { return test.param.name; });

TEST(KernelCall, RefusesParametersThatNoCompilerPasses) {
  for (const gantry_dtype type : {gantry_dtype{2, 16, 1}, gantry_dtype{2, 32, 4},
                                  gantry_dtype{0, 8, 1}, gantry_dtype{3, 32, 1}}) {
    const auto call = KernelCall::parse(info({handle, type}));

    ASSERT_FALSE(call.ok());
    EXPECT_EQ(call.error().code, Code::unsupported);
    EXPECT_EQ(call.error().reason, "PARAMETER_TYPE");
    EXPECT_EQ(call.error().message,
              "kernel \"add\": parameter 1 has type " + dtype_text(type) +
                  ", kernels accept handle, int32, int64, uint32, float32 and float64");
  }
}

TEST(KernelCall, RecognisesTensorMapsByTheirTag) {
  KernelInfo kernel = info({handle, handle});
  kernel.argument_tags = std::vector<std::int32_t>{0, 1};
  int map = 0;

  const KernelCall call = parsed(kernel);

  EXPECT_EQ(call.parameter(0), ParameterKind::pointer);
  EXPECT_EQ(call.parameter(1), ParameterKind::tensor_map);
  EXPECT_EQ(call.argument(1, pointer_value(&map), device)->data, &map);
  EXPECT_FALSE(call.argument(1, gantry_value{}, device).ok()) << "there is no map at NULL";
}

TEST(KernelCall, RefusesANumberThatIsATensorMap) {
  KernelInfo kernel = info({int32});
  kernel.argument_tags = std::vector<std::int32_t>{1};

  EXPECT_FALSE(KernelCall::parse(kernel).ok());
}

TEST(KernelCall, ReadsExtentsAfterTheParameters) {
  const KernelCall call = parsed(info({int32}, {"threadIdx.x", "blockIdx.y"}));
  const std::vector<gantry_value> arguments = {int_value(9), int_value(64), int_value(3)};

  const auto extents = call.extents(arguments);

  ASSERT_TRUE(extents.ok()) << extents.error().message;
  EXPECT_EQ(extents->block[0], 64u);
  EXPECT_EQ(extents->grid[1], 3u);
}

TEST(KernelCall, NamesTheKernelOfAWrongExtent) {
  const KernelCall call = parsed(info({}, {"blockIdx.x"}));
  const std::vector<gantry_value> arguments = {int_value(-1)};

  const auto extents = call.extents(arguments);

  ASSERT_FALSE(extents.ok());
  EXPECT_EQ(extents.error().message,
            "extent of blockIdx.x is -1, range is 0 to 2147483647\n  in a call of kernel \"add\"");
}

TEST(KernelCall, RejectsKernelsThatNeedMoreThanGridAndBlock) {
  const std::pair<std::string, std::string> wants[] = {
      {"clusterCtaIdx.x", "clusters of blocks"},
      {"preferredClusterCtaIdx.x", "clusters of blocks"},
      {"tirx.use_cooperative_launch", "a cooperative launch"},
      {"tirx.use_programtic_dependent_launch", "a programmatic dependent launch"},
      {"tir.use_dyn_shared_memory", "dynamic shared memory"},
  };
  for (const auto& [tag, what] : wants) {
    const Status status = parsed(info({}, {tag})).needs_grid_and_block_only("opencl");

    ASSERT_FALSE(status.ok()) << tag;
    EXPECT_EQ(status.error().code, Code::unsupported);
    EXPECT_EQ(status.error().reason, "LAUNCH_TAG");
    EXPECT_EQ(status.error().message,
              "kernel \"add\" requires " + what + ", which opencl devices do not have");
  }
  KernelInfo map = info({handle});
  map.argument_tags = std::vector<std::int32_t>{1};
  EXPECT_EQ(parsed(map).needs_grid_and_block_only("opencl").error().reason, "PARAMETER_TYPE");
  EXPECT_TRUE(parsed(info({handle}, {"blockIdx.x", "threadIdx.z"}))
                  .needs_grid_and_block_only("opencl")
                  .ok());
}

}  // namespace
}  // namespace gantry
