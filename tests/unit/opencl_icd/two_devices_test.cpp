// SPDX-License-Identifier: Apache-2.0
//
// One module on two devices and in two streams, and its kernels after errors.
#include "tests/unit/opencl_icd/fake_drivers.hpp"

#include <gmock/gmock.h>

namespace gantry::opencl::test {
namespace {

using ::testing::Each;

// The kernel `fill` of one module. Device 0 and 1 accept its SPIR-V.
class OneModule : public FakeDrivers {
 protected:
  void SetUp() override {
    FakeDrivers::SetUp();
    payload_ = spirv_bytes({fill}, {{"fill", words}});
    const gantry_blob blob = gantry::test::payload_blob(payload_);
    std::uint64_t consumed = 0;
    ASSERT_EQ(loader_.load_binary(self, &blob, host.node(), &module_, &consumed, nullptr),
              GANTRY_OK);
    ASSERT_EQ(module_.table->get_function(module_.self, gantry_text("fill"), &function, nullptr),
              GANTRY_OK);
  }
  void TearDown() override {
    module_.table->destroy(module_.self);
    FakeDrivers::TearDown();
  }

  void* alloc(std::int32_t device, std::uint64_t size = 16) {
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = size;
    void* data = nullptr;
    EXPECT_EQ(device_.alloc(self, device, &what, &data, nullptr), GANTRY_OK);
    return data;
  }
  void* stream(std::int32_t device) {
    void* made = nullptr;
    EXPECT_EQ(device_.stream_create(self, device, 0, &made, nullptr), GANTRY_OK);
    return made;
  }
  Status call(std::int32_t device, void* data, float value, void* stream = nullptr) {
    gantry_value args[4] = {{}, float_value(value), int_value(1), int_value(4)};
    args[0].kind = GANTRY_POINTER;
    args[0].p = data;
    const gantry_env env{{device_type, device}, stream, nullptr, nullptr};
    gantry_value result{};
    StatusBuffer status;
    const gantry_code code =
        function.table->call(function.self, &env, args, 4, &result, status.get());
    if (code != GANTRY_OK) return status.error(code, "fill");
    return {};
  }
  std::vector<float> content(std::int32_t device, void* data) {
    std::vector<float> out(4);
    const gantry_copy copy{sizeof copy,
                           GANTRY_COPY_BLOCKING,
                           {data, 0, {device_type, device}},
                           {out.data(), 0, {1, 0}},
                           16};
    EXPECT_EQ(device_.copy(self, device, &copy, nullptr, nullptr), GANTRY_OK);
    return out;
  }

  gantry_function function{};

 private:
  std::vector<std::uint8_t> payload_;
  gantry_module module_{};
};

TEST_F(OneModule, HasAProgramAndArgumentsForEachDevice) {
  void* const first = alloc(0);
  void* const second = alloc(1);

  // The arguments of a call are those of the last one on its device, or of another one.
  for (const float value : {3.0f, 3.0f, 4.0f}) {
    ASSERT_TRUE(call(0, first, value).ok());
    ASSERT_TRUE(call(1, second, value + 10).ok());
    EXPECT_THAT(content(0, first), Each(value));
    EXPECT_THAT(content(1, second), Each(value + 10));
  }
  EXPECT_EQ(icd->drivers[0].created_by, "clCreateProgramWithIL");
  EXPECT_EQ(icd->drivers[1].created_by, "clCreateProgramWithILKHR");
  device_.free(self, 0, first);
  device_.free(self, 1, second);
}

TEST_F(OneModule, RunsInTheStreamOfTheCall) {
  void* const data = alloc(0);
  void* const first = stream(0);
  void* const second = stream(0);
  ASSERT_TRUE(call(0, data, 3, first).ok());
  EXPECT_EQ(icd->pending, 1);

  ASSERT_EQ(device_.synchronize(self, 0, second, nullptr), GANTRY_OK);
  ASSERT_EQ(device_.synchronize(self, 0, nullptr, nullptr), GANTRY_OK);
  EXPECT_EQ(icd->pending, 1);
  ASSERT_EQ(device_.synchronize(self, 0, first, nullptr), GANTRY_OK);
  EXPECT_EQ(icd->pending, 0);

  EXPECT_THAT(content(0, data), Each(3.0f));
  for (void* const one : {first, second}) device_.stream_destroy(self, 0, one);
  device_.free(self, 0, data);
}

// The driver refuses the program, once.
TEST_F(OneModule, IsBuiltAgainAfterAFailure) {
  void* const data = alloc(0);
  icd->drivers[0].il_error = CL_OUT_OF_HOST_MEMORY;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call(0, data, 3).error().code, Code::exhausted);
  icd->drivers[0].il_error = CL_SUCCESS;

  const Status called = call(0, data, 4);

  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_THAT(content(0, data), Each(4.0f));
  device_.free(self, 0, data);
}

// A launch that fails leaves the arguments of the next one as they are given.
TEST_F(OneModule, RunsAfterALaunchThatFailed) {
  void* const first = alloc(0);
  void* const second = alloc(0);
  ASSERT_TRUE(call(0, first, 3).ok());
  icd->enqueue_error = CL_OUT_OF_RESOURCES;
  EXPECT_EQ(call(0, second, 4).error().reason, "DRIVER_CALL");
  icd->enqueue_error = CL_SUCCESS;

  ASSERT_TRUE(call(0, second, 4).ok());
  ASSERT_TRUE(call(0, first, 5).ok());

  EXPECT_THAT(content(0, first), Each(5.0f));
  EXPECT_THAT(content(0, second), Each(4.0f));
  device_.free(self, 0, first);
  device_.free(self, 0, second);
}

// The fake devices accept parts at multiples of 128 bytes.
TEST_F(OneModule, RefusesPartsThatBeginBetweenMultiplesOfTheAlignment) {
  void* const data = alloc(0, 4096);
  const std::int64_t extent = 4;
  for (const std::uint64_t offset : {1, 4, 32, 64, 96, 192, 4096, 4224}) {
    gantry_tensor part{};
    part.data = data;
    part.device = {device_type, 0};
    part.ndim = 1;
    part.dtype = {2, 32, 1};
    part.shape = const_cast<std::int64_t*>(&extent);
    part.byte_offset = offset;
    const gantry_value args[4] = {tensor_ref_value(&part), float_value(1), int_value(1),
                                  int_value(4)};
    const gantry_env env{{device_type, 0}, nullptr, nullptr, nullptr};
    gantry_value result{};
    StatusBuffer status;

    const gantry_code code =
        function.table->call(function.self, &env, args, 4, &result, status.get());

    const bool is_past_end = offset >= 4096;
    EXPECT_EQ(code, is_past_end ? GANTRY_INVALID : GANTRY_UNSUPPORTED) << offset;
    EXPECT_EQ(status.error(code, "").reason, is_past_end ? "ARGUMENT_RANGE" : "BUFFER_OFFSET")
        << offset;
  }
  device_.free(self, 0, data);
}

TEST_F(OneModule, StoresNothingOfAFailedBuild) {
  icd->drivers[0].il_error = CL_INVALID_VALUE;
  void* const data = alloc(0);

  EXPECT_EQ(call(0, data, 3).error().reason, "SPIRV");

  EXPECT_EQ(icd->pending, 0);
  EXPECT_THAT(host.works, ::testing::SizeIs(1));
  EXPECT_EQ(host.running_works, 0);
  device_.free(self, 0, data);
}

}  // namespace
}  // namespace gantry::opencl::test
