// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace gantry::opencl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class OpenclDevice : public OpenclTest {
 protected:
  Error alloc_error(const gantry_alloc& what) {
    void* data = nullptr;
    StatusBuffer status;
    const gantry_code code = table_.alloc(self_, 0, &what, &data, status.get());
    EXPECT_NE(code, GANTRY_OK);
    EXPECT_EQ(data, nullptr);
    return status.error(code, "alloc");
  }
  std::string text(std::int32_t kind) {
    gantry_value value{};
    EXPECT_EQ(table_.attribute(self_, 0, kind, &value, nullptr), GANTRY_OK) << kind;
    const Value owned = Value::adopt(value);
    return std::string(value_text(owned.get()).value_or("(no text)"));
  }
};

TEST_F(OpenclDevice, ReportsItsAttributes) {
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_EXISTS), 1);
  EXPECT_GE(attribute(GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1);
  EXPECT_GE(attribute(GANTRY_ATTRIBUTE_WARP_SIZE), 1);
  EXPECT_GT(attribute(GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY), 0);
  EXPECT_GE(attribute(GANTRY_ATTRIBUTE_API_VERSION), 100);
  EXPECT_THAT(text(GANTRY_ATTRIBUTE_COMPUTE_VERSION), MatchesRegex("[0-9][.][0-9]"));
  EXPECT_THAT(text(GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS),
              MatchesRegex("\\[[0-9]+, [0-9]+, [0-9]+\\]"));
  EXPECT_NE(text(GANTRY_ATTRIBUTE_DEVICE_NAME), "");
  EXPECT_NE(text(GANTRY_ATTRIBUTE_DRIVER_VERSION), "");
}

TEST_F(OpenclDevice, ReportsNothingForOtherAttributes) {
  for (const std::int32_t kind : {9, 10, 15, 17, 999, 1002, -1}) {
    gantry_value value{};
    EXPECT_EQ(table_.attribute(self_, 0, kind, &value, nullptr), GANTRY_NOT_FOUND) << kind;
    EXPECT_EQ(value.kind, GANTRY_NONE);
  }
}

TEST_F(OpenclDevice, RejectsAnIndexPastTheCount) {
  for (const std::int32_t index : {-1, device_count_}) {
    EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_EXISTS, index), 0);
    gantry_value value{};
    StatusBuffer status;
    const gantry_code code = table_.attribute(self_, index, GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                              &value, status.get());
    expect_error(status.error(code, "attribute"), Code::invalid, "DEVICE_INDEX",
                 concat("device opencl:", index, " not found, device count is ", device_count_));
  }
}

TEST_F(OpenclDevice, CreatesItsContextOnFirstUse) {
  attribute(GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY);
  EXPECT_EQ(between.contexts, 0);

  memory(16);
  memory(16);

  EXPECT_EQ(between.contexts, 1);
}

TEST_F(OpenclDevice, CountsAllocatedBytes) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = 1000;
  void* data = nullptr;
  ASSERT_EQ(table_.alloc(self_, 0, &what, &data, nullptr), GANTRY_OK);
  memory(24);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES), 1024);

  table_.free(self_, 0, data);

  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES), 24);
}

TEST_F(OpenclDevice, AllocatesZeroBytes) {
  void* const data = memory(0);

  EXPECT_NE(data, nullptr);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES), 0);
  EXPECT_TRUE(copy(on_device(data), on_host(nullptr), 0).ok());
}

TEST_F(OpenclDevice, RejectsAnAllocationAboveTheLimit) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = std::uint64_t{1} << 60;

  const Error error = alloc_error(what);

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.reason, "DEVICE_MEMORY");
  EXPECT_THAT(error.message,
              MatchesRegex("1.0 EiB \\(1152921504606846976 bytes\\) on opencl:0 \\(.*\\), most "
                           "in one allocation is [0-9.]+ [KMGTP]iB \\([0-9]+ bytes\\)"));
}

TEST_F(OpenclDevice, ReportsOutOfMemory) {
  memory(1);
  between.buffer_error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = 64;

  const Error error = alloc_error(what);

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.reason, "DRIVER_CALL");
  EXPECT_EQ(error.native_domain, "OPENCL");
  EXPECT_EQ(error.native_code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_THAT(error.message, HasSubstr("clCreateBuffer of 64 bytes on opencl:0 ("));
  EXPECT_THAT(error.message, HasSubstr(" fails: CL_MEM_OBJECT_ALLOCATION_FAILURE"));
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES), 1);
}

TEST_F(OpenclDevice, RejectsTextures) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = 64;
  what.scope = gantry_text("global.texture");

  const Error error = alloc_error(what);

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "MEMORY_SCOPE");
  EXPECT_THAT(error.message,
              MatchesRegex("memory scope \"global.texture\" is a texture on opencl:0 \\(.*\\), and "
                           "textures are not supported: export the model without them"));
  what.scope = gantry_text("global");
  void* data = nullptr;
  ASSERT_EQ(table_.alloc(self_, 0, &what, &data, nullptr), GANTRY_OK);
  table_.free(self_, 0, data);
}

TEST_F(OpenclDevice, CopiesEverySizeInBothDirectionsWithOffsets) {
  constexpr std::uint64_t room = (std::uint64_t{5} << 20) + 64;
  void* const first = memory(room);
  void* const second = memory(room);
  std::vector<std::uint8_t> bytes(room);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4095}, std::uint64_t{4096},
        std::uint64_t{4097}, std::uint64_t{5} << 20}) {
    std::vector<std::uint8_t> back(room, 0xee);

    ASSERT_TRUE(copy(on_host(bytes.data(), 3), on_device(first, 5), size, 0, 0).ok());
    ASSERT_TRUE(copy(on_device(first, 5), on_device(second, 7), size, 0, 0).ok());
    ASSERT_TRUE(copy(on_device(second, 7), on_host(back.data(), 11), size).ok());

    EXPECT_TRUE(std::equal(bytes.begin() + 3, bytes.begin() + 3 + static_cast<long>(size),
                           back.begin() + 11))
        << size;
    EXPECT_EQ(back[10], 0xee);
    EXPECT_EQ(back[11 + size], 0xee) << size;
  }
}

TEST_F(OpenclDevice, CopiesBetweenItsDevices) {
  if (device_count_ < 2) GTEST_SKIP() << "the OpenCL driver has one device";
  void* const here = floats({1, 2, 3, 4}, 0);
  void* const there = floats({9, 9, 9, 9}, 1);

  ASSERT_TRUE(copy(on_device(here, 4, 0), on_device(there, 8, 1), 8, 0).ok());

  EXPECT_THAT(floats_in(there, 4, 1), ::testing::ElementsAre(9, 9, 2, 3));
}

TEST_F(OpenclDevice, RejectsCopiesPastTheEnd) {
  void* const data = memory(16);
  std::uint8_t bytes[32] = {};

  expect_error(copy(on_host(bytes), on_device(data, 8), 9), Code::invalid, "COPY_RANGE",
               "copy to 9 bytes at offset 8, buffer has 16 bytes");
  expect_error(copy(on_device(data, UINT64_MAX), on_host(bytes), 2), Code::invalid, "COPY_RANGE",
               "copy from 2 bytes at offset 18446744073709551615, buffer has 16 bytes");
}

TEST_F(OpenclDevice, RejectsAPointerThatIsNotABuffer) {
  std::uint64_t words[8] = {};

  expect_error(copy(on_device(words), on_host(words), 1), Code::invalid, "DEVICE_DATA",
               concat("memory at ", Hex{reinterpret_cast<std::uintptr_t>(words)},
                      " is not a buffer of an opencl device"));
  expect_error(copy(on_host(words), on_device(nullptr), 1), Code::invalid, "DEVICE_DATA",
               "memory at 0x0 is not a buffer of an opencl device");
}

TEST_F(OpenclDevice, RejectsCopiesBetweenOtherDevices) {
  std::uint64_t words[2] = {};
  void* const data = memory(16);

  expect_error(copy(on_host(words), on_host(words + 1), 8), Code::invalid, "COPY_DEVICES",
               "copy is from host to host, one side must be an opencl device");
  expect_error(copy({words, 0, {7, 0}}, on_device(data), 8), Code::unsupported, "COPY_DEVICES",
               "copy from device type 7, opencl copies between its own devices and the host");
}

TEST_F(OpenclDevice, ReportsWhereDriversAreSearched) {
  between.no_platform = true;
  restart();
  std::int32_t count = -1;
  StatusBuffer status;

  const gantry_code code = table_.count(self_, &count, status.get());
  const Error error = status.error(code, "count");

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "DRIVER_MISSING");
  EXPECT_THAT(error.message,
              MatchesRegex("no OpenCL driver: libOpenCL.so.1 looks for files \\*.icd in .*; "
                           "Debian's pocl-opencl-icd has one for CPUs"));
  EXPECT_EQ(count, -1) << "outputs are untouched";
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_EXISTS), 0);
  between.no_platform = false;
  EXPECT_EQ(table_.count(self_, &count, nullptr), GANTRY_OK) << "a later call searches again";
}

TEST_F(OpenclDevice, ReportsTheDirectoryOfTheLoadersVariable) {
  const gantry::test::TempDir directory;
  const char* const before = std::getenv("OCL_ICD_VENDORS");
  const std::string kept = before != nullptr ? before : "";
  setenv("OCL_ICD_VENDORS", directory.path().c_str(), 1);
  between.no_platform = true;
  restart();
  const auto message = [&] {
    std::int32_t count = -1;
    StatusBuffer status;
    const gantry_code code = table_.count(self_, &count, status.get());
    return status.error(code, "count").message;
  };

  const std::string none = message();
  gantry::test::write_file(directory / "broken.icd", "libnowhere.so");
  const std::string broken = message();

  const std::string begin =
      concat("no OpenCL driver: libOpenCL.so.1 looks for files *.icd in ", "\"",
             directory.path().string(), "\", where OCL_ICD_VENDORS points, and ");
  const std::string end = "; Debian's pocl-opencl-icd has one for CPUs";
  EXPECT_EQ(none, begin + "finds none" + end);
  EXPECT_EQ(broken, begin + "none of \"broken.icd\" names a driver that starts" + end);
  if (before != nullptr)
    setenv("OCL_ICD_VENDORS", kept.c_str(), 1);
  else
    unsetenv("OCL_ICD_VENDORS");
}

}  // namespace
}  // namespace gantry::opencl::test
