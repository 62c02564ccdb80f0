// SPDX-License-Identifier: Apache-2.0
//
// How the demo's CPU code calls kernels of devices. Their results are tested in tools/demo, which
// requires drivers.
#include "tests/unit/writing/demo_kernels.hpp"

namespace gantry::test {
namespace {

using ::testing::ElementsAre;

void put_on(gantry_device_id device, std::initializer_list<Matrix*> matrices) {
  for (Matrix* matrix : matrices) matrix->tensor.device = device;
}
std::int64_t handle_of(const Matrix& matrix) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(matrix.values.data()));
}

TEST_F(DemoKernels, CallTheKernelOfTheirTensorsDevice) {
  for (const auto& [type, name] :
       {std::pair{2, "dense_cuda"}, {4, "dense_opencl"}, {7, "dense_vulkan"}}) {
    launched.clear();
    Matrix x({2, 3}), weight({5, 3}), bias({5}), out({2, 5});
    put_on({type, 1}, {&x, &weight, &bias, &out});

    ASSERT_EQ(call("dense_relu", {&x, &weight, &bias, &out}), 0) << last_error;

    ASSERT_EQ(launched.size(), 2u);
    EXPECT_EQ(launched[0].function, "__tvm_set_device");
    EXPECT_THAT(launched[0].args, ElementsAre(type, 1));
    EXPECT_THAT(launched[0].codes, ElementsAre(0, 0));
    EXPECT_EQ(launched[1].function, name);
    EXPECT_THAT(launched[1].args, ElementsAre(handle_of(x), handle_of(weight), handle_of(bias),
                                              handle_of(out), 3, 1, 5, 2, 32));
    EXPECT_THAT(launched[1].codes, ElementsAre(3, 3, 3, 3, 0, 0, 0, 0, 0));
  }
}

TEST_F(DemoKernels, LookAKernelUpOnce) {
  Matrix x({1, 1}), weight({1, 1}), bias({1}), out({1, 1});
  put_on({4, 0}, {&x, &weight, &bias, &out});
  ASSERT_EQ(call("dense", {&x, &weight, &bias, &out}), 0) << last_error;
  const std::size_t before = found_names.size();

  ASSERT_EQ(call("dense", {&x, &weight, &bias, &out}), 0) << last_error;

  EXPECT_EQ(found_names.size(), before);
}

TEST_F(DemoKernels, FailIfTheKernelOrTheLookUpFails) {
  Matrix x({1, 2}), weight({2, 2}), bias({2}), out({1, 2});
  put_on({7, 0}, {&x, &weight, &bias, &out});
  launch_result = -1;

  EXPECT_EQ(call("dense", {&x, &weight, &bias, &out}), -1);
  EXPECT_EQ(call("softmax", {&x, &out}), -1);
  EXPECT_EQ(last_error, "not found");
  *pointer<void*>("__TVMBackendGetFuncFromEnv") = nullptr;
  EXPECT_EQ(call("softmax", {&x, &out}), -1);
  EXPECT_EQ(last_error, "softmax_vulkan: the runtime provides no functions");
}

TEST_F(DemoKernels, LaunchNothingForNoElements) {
  Matrix x({0, 3}), weight({5, 3}), bias({5}), out({0, 5});
  put_on({4, 0}, {&x, &weight, &bias, &out});

  EXPECT_EQ(call("dense", {&x, &weight, &bias, &out}), 0) << last_error;
  EXPECT_EQ(call("softmax", {&out, &out}), 0) << last_error;
  EXPECT_TRUE(launched.empty());
}

TEST_F(DemoKernels, RejectUnknownDevicesAndByteOffsetsOnDevices) {
  Matrix x({1, 2}), out({1, 2});
  put_on({8, 0}, {&x, &out});
  EXPECT_EQ(call("softmax", {&x, &out}), -1);
  EXPECT_EQ(last_error,
            "softmax: argument 0 is on device type 8, known are 1 (cpu), 2 (cuda), 4 (opencl), "
            "7 (vulkan)");

  put_on({4, 0}, {&x, &out});
  out.tensor.byte_offset = 4;
  EXPECT_EQ(call("softmax", {&x, &out}), -1);
  EXPECT_EQ(last_error, "softmax: argument 1 has byte offset 4, a tensor on a device requires 0");
}

}  // namespace
}  // namespace gantry::test
