// SPDX-License-Identifier: Apache-2.0
//
// Properties and limits of devices that no Debian driver has, and several drivers in one process.
#include "tests/unit/opencl_icd/fake_drivers.hpp"

#include <gmock/gmock.h>

#include <array>
#include <string>
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
  std::int64_t attribute(std::int32_t kind, std::int32_t device = opencl_2_1) {
    gantry_value value{};
    const gantry_code code = device_.attribute(self, device, kind, &value, nullptr);
    return code == GANTRY_OK ? value.i : -1;
  }
  std::string text(std::int32_t kind, std::int32_t device = opencl_2_1) {
    gantry_value value{};
    EXPECT_EQ(device_.attribute(self, device, kind, &value, nullptr), GANTRY_OK) << kind;
    const Value owned = Value::adopt(value);
    return std::string(value_text(owned.get()).value_or("(no text)"));
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

// Each from its own query, in the unit of the attribute.
TEST_F(FakeDevices, ReportTheNumbersOfTheDriver) {
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 256);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK), 49152);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MULTIPROCESSOR_COUNT), 12);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_L2_CACHE_SIZE), 3145728);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_API_VERSION), 210);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES), 0);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MAX_CLOCK_RATE), 1500000);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY), std::int64_t{5} << 30);
  EXPECT_EQ(text(GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS), "[256, 128, 64]");
  EXPECT_EQ(text(GANTRY_ATTRIBUTE_COMPUTE_VERSION), "2.1");
  EXPECT_EQ(text(GANTRY_ATTRIBUTE_DEVICE_NAME), "fake device");
  EXPECT_EQ(text(GANTRY_ATTRIBUTE_DRIVER_VERSION), "1");

  // More than 32 bits have.
  icd->drivers[0].clock_mhz = 3000000;
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MAX_CLOCK_RATE), 3000000000);
}

// Whatever the order of their drivers.
TEST_F(FakeDevices, BeginWithGpusThenAccelerators) {
  struct Row {
    std::array<cl_device_type, 3> types;
    std::string_view order;
  };
  constexpr cl_device_type cpu = CL_DEVICE_TYPE_CPU, gpu = CL_DEVICE_TYPE_GPU,
                           accelerator = CL_DEVICE_TYPE_ACCELERATOR;
  for (const Row& row : {Row{{cpu, accelerator, gpu}, "210"}, Row{{accelerator, cpu, gpu}, "201"},
                         Row{{gpu, cpu, accelerator}, "021"}, Row{{cpu, gpu, accelerator}, "120"},
                         Row{{CL_DEVICE_TYPE_CUSTOM, cpu, gpu}, "210"}}) {
    for (std::size_t i = 0; i < 3; ++i) {
      icd->drivers[i].type = row.types[i];
      icd->drivers[i].device_name = std::to_string(i);
    }
    start();

    std::string order;
    for (std::int32_t i = 0; i < 3; ++i) order += text(GANTRY_ATTRIBUTE_DEVICE_NAME, i);

    EXPECT_EQ(order, row.order);
  }
}

// The memory of one is not that of another.
TEST_F(FakeDevices, CountTheMemoryOfEachDevice) {
  void* const first = alloc(0, 1000).value();
  void* const second = alloc(1, 24).value();
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES, 0), 1000);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES, 1), 24);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES, 2), 0);

  device_.free(self, 0, first);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES, 0), 0);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES, 1), 24);
  device_.free(self, 1, second);
}

// An allocation that fails is not counted, nor does it leave a smaller limit.
TEST_F(FakeDevices, CountNothingForAnAllocationThatFails) {
  icd->context_error = CL_OUT_OF_HOST_MEMORY;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(alloc(opencl_2_1, 4096).ok());
  icd->context_error = CL_SUCCESS;
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES), 0);

  void* const data = alloc(opencl_2_1, 4096).value();
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES), 4096);
  device_.free(self, opencl_2_1, data);
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

// All later calls return what the driver said first.
TEST_F(FakeDevices, AreLostUntilTheRuntimeEnds) {
  void* const data = alloc(opencl_2_1, 16).value();
  std::vector<float> values(4);
  const gantry_copy what{
      sizeof what, 0, {values.data(), 0, {1, 0}}, {data, 0, {device_type, opencl_2_1}}, 16};
  StatusBuffer status;
  constexpr cl_int context_terminated = -1121;
  for (const cl_int error : {context_terminated, cl_int{CL_SUCCESS}}) {
    icd->enqueue_error = error;

    const gantry_code code = device_.copy(self, opencl_2_1, &what, nullptr, status.get());

    ASSERT_EQ(code, GANTRY_LOST);
    EXPECT_EQ(status.error(code, "").message,
              "copy of 16 bytes on opencl:0 (fake device) fails: CL_CONTEXT_TERMINATED_KHR, the "
              "device does not respond or was reset; a new runtime may use it again");
  }
  EXPECT_EQ(alloc(opencl_2_1, 16).error().code, Code::lost);
  device_.free(self, opencl_2_1, data);
}

// Not lost: it may be another process that uses the device.
TEST_F(FakeDevices, MayBeOccupied) {
  icd->context_error = CL_DEVICE_NOT_AVAILABLE;
  const Error error = alloc(opencl_2_1, 16).error();
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.message, "clCreateContext of platform \"fake\" fails: CL_DEVICE_NOT_AVAILABLE");
  icd->context_error = CL_SUCCESS;
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
  const gantry_env env{{device_type, 0}, nullptr, nullptr, nullptr};
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
    EXPECT_EQ(status.error(code, "").reason, "COPY_DEVICES");
  }
  device_.free(self, 0, here);
  device_.free(self, 1, there);
}

}  // namespace
}  // namespace gantry::opencl::test
