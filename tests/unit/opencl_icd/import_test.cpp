// SPDX-License-Identifier: Apache-2.0
//
// Memory of descriptors, which no Debian driver imports.
#include "tests/unit/opencl_icd/fake_drivers.hpp"

#include <gantry/descriptor.hpp>

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <filesystem>
#include <numeric>

namespace gantry::opencl::test {
namespace {

using ::testing::ElementsAre;

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// Device 0 has OpenCL 3.0 and imports both kinds.
class FakeImports : public FakeDrivers {
 protected:
  static constexpr std::uint64_t size = 4096;
  // The alignment of the fake devices.
  static constexpr std::uint64_t alignment = 128;

  void SetUp() override {
    FakeDrivers::SetUp();
    gpu().version = "OpenCL 3.0 fake";
    gpu().has_external_memory = true;
    gpu().import_kinds = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                          CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR};
    start();
    std::vector<std::uint8_t> bytes(size);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    ASSERT_EQ(write_all(file.get(), bytes), 0);
  }
  FakeDriver& gpu() { return icd->drivers[0]; }
  Result<void*> import(const gantry_external& what) {
    void* data = nullptr;
    StatusBuffer status;
    const gantry_code code = device_.memory_import(self, 0, &what, &data, status.get());
    if (code != GANTRY_OK) return status.error(code, "import");
    return data;
  }
  gantry_external part(std::uint64_t offset = alignment,
                       std::int32_t kind = GANTRY_EXTERNAL_FD) const {
    return {sizeof(gantry_external), kind, nullptr, file.get(), offset, size - offset};
  }
  void expect_no_kind(std::int32_t kind) {
    start();

    const auto refused = import(part(alignment, kind));

    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_EQ(refused.error().reason, "EXTERNAL_KIND");
    EXPECT_EQ(refused.error().message,
              concat("device opencl does not import external memory of kind ", kind));
  }
  // Copies 2 bytes from or to the begin of memory.
  Status copy(gantry_location from, gantry_location to) {
    const gantry_copy what{sizeof what, GANTRY_COPY_BLOCKING, from, to, 2};
    StatusBuffer status;
    const gantry_code code = device_.copy(self, 0, &what, nullptr, status.get());
    if (code != GANTRY_OK) return status.error(code, "copy");
    return {};
  }
  std::array<std::uint8_t, 2> content(std::uint64_t offset) const {
    std::array<std::uint8_t, 2> bytes{};
    EXPECT_EQ(::pread(file.get(), bytes.data(), 2, static_cast<off_t>(offset)), 2);
    return bytes;
  }

  Descriptor file{::memfd_create("imported", MFD_CLOEXEC)};
};

TEST_F(FakeImports, UseTheMemoryOfADescriptor) {
  const auto files = open_files();
  for (const std::uint64_t offset : {std::uint64_t{0}, alignment}) {
    void* const data = import(part(offset)).value();
    std::array<std::uint8_t, 2> found{};
    std::array<std::uint8_t, 2> sent{99, 98};

    EXPECT_EQ(open_files(), files + 1) << "the driver's";
    EXPECT_EQ(gpu().acquired, 1);
    ASSERT_TRUE(copy({data, 0, {device_type, 0}}, {found.data(), 0, {1, 0}}).ok());
    ASSERT_TRUE(copy({sent.data(), 0, {1, 0}}, {data, 0, {device_type, 0}}).ok());

    EXPECT_THAT(found, ElementsAre(offset, offset + 1));
    EXPECT_EQ(content(offset), sent);
    device_.free(self, 0, data);
    EXPECT_EQ(gpu().acquired, 0);
  }
  EXPECT_EQ(open_files(), files);
}

// Of the device that imports it only: others of the driver may not reach it.
TEST_F(FakeImports, NameTheKindTheDescriptorAndTheDevice) {
  for (const auto& [kind, property] :
       {std::pair{GANTRY_EXTERNAL_FD, CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR},
        {GANTRY_EXTERNAL_DMA_BUF, CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR}}) {
    void* const data = import(part(alignment, kind)).value();

    cl_device_id device = nullptr;
    cl_platform_id platform = nullptr;
    clGetPlatformIDs(1, &platform, nullptr);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    EXPECT_THAT(gpu().import_properties,
                ElementsAre(property, ::testing::Ne(cl_mem_properties(file.get())),
                            CL_DEVICE_HANDLE_LIST_KHR, reinterpret_cast<cl_mem_properties>(device),
                            CL_DEVICE_HANDLE_LIST_END_KHR));
    device_.free(self, 0, data);
  }
}

// The table of an older driver ends before clCreateBufferWithProperties.
TEST_F(FakeImports, NeedOpenCl3) {
  gpu().version = "OpenCL 2.1 fake";
  expect_no_kind(GANTRY_EXTERNAL_FD);
}

TEST_F(FakeImports, NeedTheFunctionsOfTheExtension) {
  gpu().has_external_memory = false;
  expect_no_kind(GANTRY_EXTERNAL_FD);
}

TEST_F(FakeImports, NeedTheirKind) {
  gpu().import_kinds = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR};
  expect_no_kind(GANTRY_EXTERNAL_FD);
  gpu().import_kinds = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR};
  expect_no_kind(GANTRY_EXTERNAL_DMA_BUF);
  gpu().import_kinds = {};
  expect_no_kind(GANTRY_EXTERNAL_FD);
}

TEST_F(FakeImports, RefuseAnEmptyPartAndAClosedDescriptor) {
  gantry_external empty = part();
  empty.size = 0;
  gantry_external closed = part();
  closed.fd = -1;

  EXPECT_EQ(import(empty).error().reason, "ARGUMENT_RANGE");
  EXPECT_EQ(import(closed).error().reason, "ARGUMENT");
}

TEST_F(FakeImports, BeginAtAMultipleOfTheAlignment) {
  const auto files = open_files();

  const auto refused = import(part(64));

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid);
  EXPECT_EQ(refused.error().reason, "ALIGNMENT");
  EXPECT_EQ(refused.error().message,
            "external memory: offset is 64, on opencl:0 (fake device) a part begins at a multiple "
            "of 128");
  EXPECT_EQ(gpu().acquired, 0);
  EXPECT_EQ(open_files(), files);
}

TEST_F(FakeImports, ReportTheDriversErrorAndCloseTheirCopy) {
  const auto files = open_files();
  gpu().import_error = CL_INVALID_PROPERTY;

  const auto refused = import(part());

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            concat("clCreateBufferWithProperties of descriptor ", file.get(),
                   " on opencl:0 (fake device) fails: CL_INVALID_PROPERTY"));
  EXPECT_EQ(open_files(), files);
}

TEST_F(FakeImports, ReportTheDriversErrorOfTheHandOver) {
  icd->enqueue_error = CL_OUT_OF_RESOURCES;

  const auto refused = import(part());

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::exhausted);
  EXPECT_EQ(refused.error().message,
            "clEnqueueAcquireExternalMemObjectsKHR on opencl:0 (fake device) fails: "
            "CL_OUT_OF_RESOURCES");
}

}  // namespace
}  // namespace gantry::opencl::test
