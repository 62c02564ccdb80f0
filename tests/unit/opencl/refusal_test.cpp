// SPDX-License-Identifier: Apache-2.0
//
// Calls that fail before the launch, and their errors.
#include "world.hpp"

namespace gantry::opencl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

using OpenclRefusal = OpenclTest;

TEST_F(OpenclRefusal, RejectsAMisalignedOffset) {
  const auto module = load(both_kernels());
  const std::uint64_t step = plugin().driver.device(0).value()->alignment_bytes;
  if (step == 1) GTEST_SKIP() << "this driver allows sub-buffers at any offset";
  gantry_tensor part{};
  part.data = memory(4096);
  part.device = {device_type, 0};
  part.byte_offset = 1;

  const Error error = error_of(
      module->call("fill", {tensor_ref_value(&part), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "BUFFER_OFFSET");
  EXPECT_THAT(error.message,
              MatchesRegex("kernel \"fill\": argument 0 begins at byte 1 of its buffer; on "
                           "opencl:0 \\(.*\\) a part begins at a multiple of " +
                           std::to_string(step) + ": copy it into a tensor of its own"));
  part.byte_offset = 4096;
  EXPECT_EQ(error_of(module->call("fill", {tensor_ref_value(&part), float_value(3), int_value(1),
                                           int_value(4)}))
                .message,
            "kernel \"fill\": argument 0 begins at byte 4096, buffer has 4096");
}

TEST_F(OpenclRefusal, RejectsAPointerThatIsNotABuffer) {
  const auto module = load(both_kernels());
  std::uint64_t words[8] = {};

  const Error error = error_of(
      module->call("fill", {pointer_value(words), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.reason, "DEVICE_DATA");
  EXPECT_THAT(error.message, HasSubstr(" is not a buffer of an opencl device\n  in argument 0 of "
                                       "kernel \"fill\""));
}

TEST_F(OpenclRefusal, RejectsAWrongNumberOfArguments) {
  const auto module = load(both_kernels());

  const Error error = error_of(module->call("fill", {int_value(1)}));

  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(
      error.message,
      "kernel \"fill\" is called with 1 arguments, expected 4: 2 parameters and 2 launch extents");
}

TEST_F(OpenclRefusal, RejectsAWorkGroupAboveTheDevicesLimit) {
  const auto module = load(both_kernels());
  const std::int64_t max = attribute(GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  void* const data = memory(64);

  const Error error = error_of(module->call(
      "fill", {pointer_value(data), float_value(3), int_value(1), int_value(2 * max)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "LAUNCH_EXTENT");
  EXPECT_THAT(error.message, HasSubstr(concat("requires work-groups of ", 2 * max, " x 1 x 1, ")));
  EXPECT_THAT(error.message, HasSubstr(concat("allows at most ", max, " work-items in one")));
}

TEST_F(OpenclRefusal, ReportsTheCompilersLog) {
  const auto module = kernel(fill,
                             "__kernel void fill(__global float* out, float value) {\n"
                             "  out[0] = value + no_such_name;\n"
                             "}\n");
  void* const data = memory(64);

  const Error error = error_of(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "KERNEL_BUILD");
  EXPECT_EQ(error.native_domain, "OPENCL");
  EXPECT_THAT(error.message, HasSubstr("kernel \"fill\" does not build on opencl:0 ("));
  EXPECT_THAT(error.message, HasSubstr("CL_BUILD_PROGRAM_FAILURE\n  "));
  EXPECT_THAT(error.message, HasSubstr("no_such_name"));
  ASSERT_EQ(host_.log.size(), 1u) << "the host's log contains the whole text";
  EXPECT_THAT(host_.log[0], HasSubstr("no_such_name"));
}

TEST_F(OpenclRefusal, RejectsAKernelThatTheCodeLacks) {
  const auto module = load(payload_bytes("cl", {axpy, fill}, axpy_body));
  void* const data = memory(64);

  const Error error = error_of(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.reason, "KERNEL_CODE");
  EXPECT_EQ(error.message, "kernel \"fill\" is in the payload's list and not in its code");
}

TEST_F(OpenclRefusal, RejectsAWrongNumberOfParametersInTheCode) {
  KernelRecord more = fill;
  more.parameters.push_back(int32);
  const auto module = kernel(more, fill_body);
  void* const data = memory(64);

  const Error error = error_of(module->call(
      "fill", {pointer_value(data), float_value(3), int_value(1), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.message, "kernel \"fill\" has 2 parameters, the payload's list has 3");
}

TEST_F(OpenclRefusal, RejectsAWrongParameterSizeInTheCode) {
  KernelRecord wide = fill;
  wide.parameters[1] = float64;
  const auto module = kernel(wide, fill_body);
  void* const data = memory(64);

  const Error error = error_of(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.message,
            "kernel \"fill\": parameter 1 has another size in the code than in the payload's list");
}

TEST_F(OpenclRefusal, RejectsSpirvOnADeviceWithoutIt) {
  const auto module = load(spirv_bytes({fill}, {{"fill", {0x07230203, 1}}}));
  if (!device_text(plugin().driver.device(0).value()->id, CL_DEVICE_IL_VERSION).empty())
    GTEST_SKIP() << "this device accepts SPIR-V";
  void* const data = memory(64);

  const Error error = error_of(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "SPIRV");
  EXPECT_THAT(error.message, MatchesRegex("kernel \"fill\" is SPIR-V, which opencl:0 \\(.*\\), "
                                          "OpenCL .*, does not accept: export it as OpenCL C"));
}

TEST_F(OpenclRefusal, RejectsAnInvalidBinary) {
  const auto module = load(payload_bytes("clbin", {fill}, "no binary at all"));
  void* const data = memory(64);

  const Error error = error_of(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "BLOB_ARCH");
  EXPECT_THAT(error.message,
              HasSubstr("kernel \"fill\" is a binary for another device than opencl:0 ("));
}

}  // namespace
}  // namespace gantry::opencl::test
