// SPDX-License-Identifier: Apache-2.0
//
// Memory that others have allocated. Descriptors are those of memory that another VkDevice exports.
#include "tests/unit/vulkan/between.hpp"
#include "tests/unit/vulkan/world.hpp"

#include <gantry/descriptor.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

namespace gantry::vulkan::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// Mapped memory of another device of the driver, and its descriptor.
class Exported {
 public:
  Exported(const Gpu& gpu, std::uint64_t size) {
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = gpu.queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    const char* const extension = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    VkDeviceCreateInfo device{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    device.queueCreateInfoCount = 1;
    device.pQueueCreateInfos = &queue;
    device.enabledExtensionCount = 1;
    device.ppEnabledExtensionNames = &extension;
    EXPECT_EQ(vkCreateDevice(gpu.handle, &device, nullptr, &device_), VK_SUCCESS);
    constexpr auto kind = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VkExportMemoryAllocateInfo exported{VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                              nullptr, kind};
    const VkMemoryAllocateInfo memory{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &exported, size, 0};
    EXPECT_EQ(vkAllocateMemory(device_, &memory, nullptr, &memory_), VK_SUCCESS);
    void* mapped = nullptr;
    EXPECT_EQ(vkMapMemory(device_, memory_, 0, VK_WHOLE_SIZE, 0, &mapped), VK_SUCCESS);
    bytes = {static_cast<std::uint8_t*>(mapped), size};
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
    const VkMemoryGetFdInfoKHR what{VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, nullptr, memory_,
                                    kind};
    const auto get =
        reinterpret_cast<PFN_vkGetMemoryFdKHR>(vkGetDeviceProcAddr(device_, "vkGetMemoryFdKHR"));
    int number = -1;
    EXPECT_EQ(get(device_, &what, &number), VK_SUCCESS);
    descriptor = Descriptor(number);
  }
  ~Exported() {
    vkFreeMemory(device_, memory_, nullptr);
    vkDestroyDevice(device_, nullptr);
  }

  std::span<std::uint8_t> bytes;
  Descriptor descriptor{-1};

 private:
  VkDevice device_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
};

class Imports : public World {
 protected:
  static constexpr std::uint64_t size = 4096;
  // A multiple of every device's alignment.
  static constexpr std::uint64_t offset = 256;

  void SetUp() override {
    World::SetUp();
    if (IsSkipped()) return;
    if (device().gpu().descriptor_kinds == 0) GTEST_SKIP() << "the device imports no descriptors";
    exported.emplace(*plugin->gpu(0).value(), size);
  }
  void TearDown() override {
    close_reused();
    exported.reset();
    World::TearDown();
    between.hidden_extension.clear();
    between.external_features.reset();
    between.has_dma_buf = between.lists_commands = false;
    between.dma_buf_types = ~0u;
    between.import_error = VK_SUCCESS;
    between.commands.clear();
  }
  Result<void*> import(const gantry_external& what) {
    void* data = nullptr;
    StatusBuffer status;
    const gantry_code code = table_.memory_import(plugin.get(), 0, &what, &data, status.get());
    if (code != GANTRY_OK) return status.error(code, "import");
    return data;
  }
  // The exported memory after `offset`.
  gantry_external part(std::int32_t kind = GANTRY_EXTERNAL_FD) const {
    return {sizeof(gantry_external),    kind,   nullptr,
            exported->descriptor.get(), offset, size - offset};
  }
  std::vector<std::uint8_t> exported_part() const {
    return {exported->bytes.begin() + offset, exported->bytes.end()};
  }
  // Closes what has the number of the driver's copy of the descriptor.
  void close_reused() {
    if (between.reused_descriptor < 0) return;
    EXPECT_EQ(::close(std::exchange(between.reused_descriptor, -1)), 0)
        << "the plugin has closed a descriptor of the driver";
  }
  // Restarts the plugin, which reads the device's extensions again.
  void restart() {
    exported.reset();
    start({});
    exported.emplace(*plugin->gpu(0).value(), size);
  }
  void expect_no_kind(std::int32_t kind) {
    const auto refused = import(part(kind));

    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_EQ(refused.error().reason, "EXTERNAL_KIND");
    EXPECT_EQ(refused.error().message,
              concat("device vulkan does not import external memory of kind ", kind));
  }

  std::optional<Exported> exported;
};

TEST_F(Imports, UseTheMemoryOfADescriptor) {
  const auto files = open_files();
  const std::vector<std::uint8_t> before = exported_part();
  const std::vector<std::uint8_t> sent(before.rbegin(), before.rend());

  void* const data = import(part()).value();

  EXPECT_EQ(device().allocated_bytes(), 0);
  EXPECT_EQ(read<std::uint8_t>(data, before.size()), before);
  ASSERT_TRUE(copy(on_host(sent.data()), on_device(data), sent.size()).ok());
  free(data);
  EXPECT_EQ(exported_part(), sent);
  EXPECT_EQ(exported->bytes[offset - 1], static_cast<std::uint8_t>(offset));
  close_reused();
  EXPECT_EQ(open_files(), files);
}

// The copy has not run when free is called.
TEST_F(Imports, EndTheirWorkBeforeTheyAreFreed) {
  void* const zeros = holding(std::vector<std::uint8_t>(size - offset));
  void* const data = import(part()).value();
  between.is_late = true;
  ASSERT_TRUE(copy(on_device(zeros), on_device(data), size - offset).ok());

  free(data);

  EXPECT_EQ(exported_part(), std::vector<std::uint8_t>(size - offset));
  free(zeros);
}

TEST_F(Imports, TakeTheMemoryOverAndGiveItBack) {
  between.lists_commands = true;
  const std::string own = std::to_string(device().gpu().queue_family);

  void* const data = import(part()).value();

  EXPECT_THAT(between.commands, Contains(HasSubstr("family external->" + own)));
  between.commands.clear();
  free(data);
  EXPECT_THAT(between.commands, Contains(HasSubstr("family " + own + "->external")));
}

TEST_F(Imports, OfADmaBufAreOfAForeignQueue) {
  between.has_dma_buf = true;
  restart();
  between.lists_commands = true;

  void* const data = import(part(GANTRY_EXTERNAL_DMA_BUF)).value();

  EXPECT_EQ(read<std::uint8_t>(data, size - offset), exported_part());
  EXPECT_THAT(between.commands, Contains(HasSubstr("family foreign->")));
  free(data);
}

TEST_F(Imports, OfADmaBufNeedAMemoryType) {
  between.has_dma_buf = true;
  between.dma_buf_types = 0;
  restart();
  const auto files = open_files();

  const auto refused = import(part(GANTRY_EXTERNAL_DMA_BUF));

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_EQ(refused.error().reason, "EXTERNAL_KIND");
  EXPECT_EQ(refused.error().message,
            concat("no memory of the driver is over descriptor ", exported->descriptor.get()));
  EXPECT_EQ(open_files(), files);
}

TEST_F(Imports, NeedTheExtensionOfTheirKind) {
  if (device().gpu().descriptor_kinds == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)
    expect_no_kind(GANTRY_EXTERNAL_DMA_BUF);
  between.hidden_extension = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
  restart();

  expect_no_kind(GANTRY_EXTERNAL_FD);
}

TEST_F(Imports, NeedADriverThatImportsBuffers) {
  for (const VkExternalMemoryFeatureFlags features :
       {VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | 0,
        VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT |
            VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT}) {
    between.external_features = features;
    restart();

    expect_no_kind(GANTRY_EXTERNAL_FD);
  }
}

TEST_F(Imports, ReportTheDriversErrorAndCloseTheirCopy) {
  const auto files = open_files();
  between.import_error = VK_ERROR_INVALID_EXTERNAL_HANDLE;

  const auto refused = import(part());

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid);
  EXPECT_EQ(refused.error().reason, "DRIVER_CALL");
  EXPECT_EQ(
      refused.error().message,
      concat("vkAllocateMemory over external memory returns VK_ERROR_INVALID_EXTERNAL_HANDLE ",
             "(-1000072003)\n  while importing descriptor ", exported->descriptor.get()));
  EXPECT_EQ(open_files(), files);
}

TEST_F(Imports, RefuseAnEmptyPartAndAClosedDescriptor) {
  gantry_external empty = part();
  empty.size = 0;
  gantry_external closed = part();
  closed.fd = -1;

  EXPECT_EQ(import(empty).error().reason, "ARGUMENT_RANGE");
  EXPECT_EQ(import(closed).error().reason, "ARGUMENT");
}

TEST_F(Imports, BeginAtAMultipleOfTheAlignment) {
  const std::uint64_t alignment = device().gpu().properties.limits.minStorageBufferOffsetAlignment;
  if (alignment == 1) GTEST_SKIP() << "the device has no alignment";
  for (const std::int32_t kind : {GANTRY_EXTERNAL_FD, GANTRY_EXTERNAL_NATIVE}) {
    gantry_external what = part(kind);
    what.offset = offset + 1;

    const auto refused = import(what);

    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_EQ(refused.error().reason, "ALIGNMENT");
    EXPECT_EQ(refused.error().message,
              concat("external memory: offset is 257, expected a multiple of ", alignment));
  }
}

TEST_F(Imports, UseAPartOfABufferOfTheDriver) {
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  void* const whole = holding(bytes);
  void* handle = nullptr;
  ASSERT_EQ(table_.native_get(plugin.get(), 0, GANTRY_NATIVE_MEMORY, whole, &handle, nullptr),
            GANTRY_OK);

  void* const data =
      import({sizeof(gantry_external), GANTRY_EXTERNAL_NATIVE, handle, -1, offset, size - offset})
          .value();

  bytes.erase(bytes.begin(), bytes.begin() + offset);
  EXPECT_EQ(read<std::uint8_t>(data, bytes.size()), bytes);
  free(data);
  free(whole);
}

TEST_F(Imports, UseHostMemory) {
  const std::uint64_t page = device().gpu().host_memory_alignment;
  if (page == 0) GTEST_SKIP() << "the device imports no host memory";
  const std::unique_ptr<std::uint8_t, decltype(&std::free)> own(
      static_cast<std::uint8_t*>(std::aligned_alloc(page, 2 * page)), &std::free);
  std::iota(own.get(), own.get() + 2 * page, std::uint8_t{0});
  gantry_external what{sizeof what, GANTRY_EXTERNAL_HOST, own.get(), -1, page, page};

  void* const data = import(what).value();

  EXPECT_EQ(read<std::uint8_t>(data, page),
            std::vector<std::uint8_t>(own.get() + page, own.get() + 2 * page));
  free(data);
  what.offset = 1;
  EXPECT_EQ(import(what).error().reason, "ALIGNMENT");
  what.offset = what.size = 0;
  EXPECT_EQ(import(what).error().reason, "ALIGNMENT");
}

}  // namespace
}  // namespace gantry::vulkan::test
