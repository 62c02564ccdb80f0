// SPDX-License-Identifier: Apache-2.0
//
// Properties and limits of devices that no Debian driver has, and several drivers in one process.
#include "tests/unit/opencl_icd/fake_drivers.hpp"

#include <gmock/gmock.h>

#include <array>
#include <string_view>
#include <utility>

namespace gantry::opencl::test {
namespace {

class FakeDevices : public FakeDrivers {
 protected:
  Result<void*> alloc(std::int32_t device, std::uint64_t size) {
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = size;
    void* data = nullptr;
    StatusBuffer status;
    const gantry_code code = device_.alloc(self, device, &what, &data, status.get());
    if (code != GANTRY_OK) return status.error(code, "alloc");
    return data;
  }
  // The value of a number; -1: the device has none.
  std::int64_t attribute(std::int32_t kind) {
    gantry_value value{};
    const gantry_code code = device_.attribute(self, opencl_2_1, kind, &value, nullptr);
    return code == GANTRY_OK ? value.i : -1;
  }
};

TEST_F(FakeDevices, AllocateUpToTheirLimit) {
  icd->drivers[0].max_bytes = 4096;
  start();

  const auto largest = alloc(opencl_2_1, 4096);
  const auto larger = alloc(opencl_2_1, 4097);

  ASSERT_TRUE(largest.ok()) << largest.error().message;
  device_.free(self, opencl_2_1, *largest);
  ASSERT_FALSE(larger.ok());
  EXPECT_EQ(larger.error().reason, "DEVICE_MEMORY");
}

TEST_F(FakeDevices, HaveTheWarpSizeOfTheirVendorsExtension) {
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_WARP_SIZE), 1);
  icd->drivers[0].extensions = "cl_khr_fp64 cl_nv_device_attribute_query";
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_WARP_SIZE), 32);
  icd->drivers[0].extensions = "cl_amd_device_attribute_query";
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_WARP_SIZE), 64);
}

TEST_F(FakeDevices, WithoutImagesOfBuffersHaveNoPitchAlignment) {
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_IMAGE_PITCH_ALIGNMENT), -1);
  icd->drivers[0].pitch_alignment = 1;
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_IMAGE_PITCH_ALIGNMENT), 1);
}

TEST_F(FakeDevices, ReportTheDriversErrorOfACopy) {
  void* const data = alloc(opencl_2_1, 16).value();
  std::vector<float> values(4);
  icd->enqueue_error = CL_OUT_OF_RESOURCES;
  const gantry_copy what{
      sizeof what, 0, {values.data(), 0, {1, 0}}, {data, 0, {device_type, opencl_2_1}}, 16};
  StatusBuffer status;

  const gantry_code code = device_.copy(self, opencl_2_1, &what, nullptr, status.get());

  ASSERT_EQ(code, GANTRY_EXHAUSTED);
  EXPECT_EQ(status.error(code, "").message,
            "copy of 16 bytes on opencl:0 (fake device) fails: CL_OUT_OF_RESOURCES");
  device_.free(self, opencl_2_1, data);
}

TEST_F(FakeDevices, ReportTheDriversErrorOfTheirContextAndQueue) {
  icd->context_error = CL_OUT_OF_HOST_MEMORY;
  EXPECT_EQ(alloc(opencl_2_1, 16).error().message,
            "clCreateContext of platform \"fake\" fails: CL_OUT_OF_HOST_MEMORY");
  icd->context_error = CL_SUCCESS;
  icd->queue_error = CL_OUT_OF_RESOURCES;
  StatusBuffer status;

  const gantry_code code = device_.synchronize(self, opencl_2_1, nullptr, status.get());

  ASSERT_EQ(code, GANTRY_EXHAUSTED);
  EXPECT_EQ(status.error(code, "").message,
            "clCreateCommandQueue on opencl:0 (fake device) fails: CL_OUT_OF_RESOURCES");
}

TEST_F(FakeDevices, IgnoreAFreeOfOtherMemory) {
  alignas(64) std::array<char, 256> foreign{};

  device_.free(self, opencl_2_1, foreign.data());

  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES), 0);
}

TEST(DriverErrors, AreOutOfMemoryForThreeResults) {
  for (const cl_int error :
       {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY}) {
    EXPECT_EQ(driver_error(error, "a call").code, Code::exhausted) << error;
  }
  EXPECT_EQ(driver_error(CL_INVALID_VALUE, "a call").code, Code::unavailable);
}

TEST(Versions, HaveTwoDigits) {
  const std::pair<std::string_view, int> versions[] = {
      {"OpenCL 1.0", 100}, {"OpenCL 9.9 x", 990}, {"OpenCL 1.", 0},
      {"OpenCL /.0", 0},   {"OpenCL :.0", 0},     {"OpenCL 1./", 0},
      {"OpenCL 1.:", 0},   {"OpenCL 1,0", 0},     {"OpenGL 1.0", 0},
  };
  for (const auto& [text, version] : versions) EXPECT_EQ(version_in(text), version) << text;
}

TEST_F(FakeDevices, RejectArgumentsOfAnotherDriver) {
  const std::vector<std::uint8_t> payload = spirv_bytes({fill}, {{"fill", words}});
  const gantry_blob blob = gantry::test::payload_blob(payload);
  gantry_module module{};
  std::uint64_t consumed = 0;
  ASSERT_EQ(loader_.load_binary(self, &blob, host.node(), &module, &consumed, nullptr), GANTRY_OK);
  gantry_function function{};
  ASSERT_EQ(module.table->get_function(module.self, gantry_text("fill"), &function, nullptr),
            GANTRY_OK);
  gantry_value args[4] = {{}, float_value(3), int_value(1), int_value(4)};
  args[0].kind = GANTRY_POINTER;
  args[0].p = alloc(1, 16).value();
  const gantry_env env{{device_type, 0}, nullptr, nullptr};
  gantry_value result{};
  StatusBuffer status;

  const gantry_code code =
      function.table->call(function.self, &env, args, 4, &result, status.get());

  ASSERT_EQ(code, GANTRY_INVALID);
  EXPECT_EQ(status.error(code, "").reason, "ARGUMENT_DEVICE");
  EXPECT_EQ(status.error(code, "").message,
            "kernel \"fill\": argument 0 is on opencl:1 (fake device), the call runs on opencl:0 "
            "(fake device)");
  device_.free(self, 1, args[0].p);
  module.table->destroy(module.self);
}

TEST_F(FakeDevices, RejectCopiesOfAnotherDriversBuffers) {
  void* const here = alloc(0, 16).value();
  void* const there = alloc(1, 16).value();
  for (const auto& [from, to] : {std::pair{here, there}, std::pair{there, here}}) {
    const gantry_copy what{
        sizeof what, 0, {from, 0, {device_type, 0}}, {to, 0, {device_type, 0}}, 16};
    StatusBuffer status;

    const gantry_code code = device_.copy(self, 0, &what, nullptr, status.get());

    ASSERT_EQ(code, GANTRY_UNSUPPORTED);
    EXPECT_EQ(status.error(code, "").reason, "DEVICE_PAIR");
  }
  device_.free(self, 0, here);
  device_.free(self, 1, there);
}

}  // namespace
}  // namespace gantry::opencl::test
