// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cached_file.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/vulkan/between.hpp"
#include "tests/unit/vulkan/world.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

namespace gantry::vulkan::test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

VkPhysicalDeviceProperties some_device() {
  VkPhysicalDeviceProperties properties{};
  properties.vendorID = 0x10de;
  properties.deviceID = 0x2335;
  std::memset(properties.pipelineCacheUUID, 7, VK_UUID_SIZE);
  return properties;
}

std::vector<std::uint8_t> cache_bytes(const VkPipelineCacheHeaderVersionOne& header,
                                      std::size_t behind = 100) {
  std::vector<std::uint8_t> bytes(sizeof header + behind);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

TEST(CacheHeaders, MustMatchDriverAndDevice) {
  const VkPhysicalDeviceProperties device = some_device();
  VkPipelineCacheHeaderVersionOne good{};
  good.headerSize = sizeof good;
  good.headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE;
  good.vendorID = device.vendorID;
  good.deviceID = device.deviceID;
  std::memcpy(good.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE);
  EXPECT_TRUE(is_cache_of(device, cache_bytes(good)));
  EXPECT_TRUE(is_cache_of(device, cache_bytes(good, 0)));

  auto other = good;
  other.pipelineCacheUUID[15] = 8;
  EXPECT_FALSE(is_cache_of(device, cache_bytes(other)));
  other = good;
  other.vendorID = 1;
  EXPECT_FALSE(is_cache_of(device, cache_bytes(other)));
  other = good;
  other.deviceID = 1;
  EXPECT_FALSE(is_cache_of(device, cache_bytes(other)));
  other = good;
  other.headerVersion = static_cast<VkPipelineCacheHeaderVersion>(2);
  EXPECT_FALSE(is_cache_of(device, cache_bytes(other)));
  other = good;
  other.headerSize = 1000;
  EXPECT_FALSE(is_cache_of(device, cache_bytes(other)));
  other.headerSize = 4;
  EXPECT_FALSE(is_cache_of(device, cache_bytes(other)));
  const std::vector<std::uint8_t> whole = cache_bytes(good);
  EXPECT_FALSE(is_cache_of(device, std::span(whole).first(31)));
}

class PipelineCaches : public World {
 protected:
  void SetUp() override { start({}, directory.path().string()); }

  // Loads axpy2, compiles it, and destroys the module.
  void use_module() {
    auto module = load(bytes, 3).value();
    const auto pipeline = module->pipeline(*module->find("axpy2_kernel0").value(), device());
    EXPECT_TRUE(pipeline.ok()) << pipeline.error().message;
  }
  // Bytes that a new process loads for a module.
  std::size_t found(std::string_view module) {
    return PipelineCache(device(), plugin->disk(), module).loaded_bytes();
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
      all.push_back(entry.path());
    return all;
  }

  gantry::test::TempDir directory;
  const std::vector<std::uint8_t> bytes = golden_payload("tvm-0.12/axpy2_vulkan.so");
};

TEST_F(PipelineCaches, AreStoredWhenTheModuleIsDestroyed) {
  use_module();
  ASSERT_THAT(files(), SizeIs(1));
  const auto written = std::filesystem::last_write_time(files()[0]);

  start({}, directory.path().string());
  use_module();

  EXPECT_THAT(files(), SizeIs(1));
  EXPECT_EQ(std::filesystem::last_write_time(files()[0]), written) << "nothing new was compiled";
}

TEST_F(PipelineCaches, AreFilledByAnnouncedWork) {
  use_module();

  EXPECT_THAT(host.works,
              testing::ElementsAre(concat("compiling kernel \"axpy2_kernel0\" for ",
                                          std::string_view(device().gpu().properties.deviceName))));
  EXPECT_EQ(host.running_works, 0);
}

TEST_F(PipelineCaches, UseOneFileForEachModule) {
  EXPECT_EQ(found("one"), 0u);
  EXPECT_EQ(found("other"), 0u);

  EXPECT_THAT(files(), SizeIs(2));
  EXPECT_GE(found("one"), sizeof(VkPipelineCacheHeaderVersionOne));
}

// Each part of the key but the module; the driver's header in a file has only some of them.
TEST_F(PipelineCaches, UseOneFileForEachDriverAndDevice) {
  using Properties = VkPhysicalDeviceProperties;
  const std::vector<std::pair<std::string, std::function<void(Properties&)>>> changes = {
      {"name", [](Properties& properties) { properties.deviceName[0] ^= 1; }},
      {"vendor", [](Properties& properties) { ++properties.vendorID; }},
      {"device", [](Properties& properties) { ++properties.deviceID; }},
      {"driver", [](Properties& properties) { ++properties.driverVersion; }},
      {"UUID", [](Properties& properties) { ++properties.pipelineCacheUUID[15]; }},
  };
  EXPECT_EQ(found("one"), 0u);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    between.change = changes[i].second;
    start({}, directory.path().string());

    EXPECT_EQ(found("one"), 0u);

    EXPECT_THAT(files(), SizeIs(2 + i)) << "with another " << changes[i].first;
  }
  between.change = nullptr;
}

TEST_F(PipelineCaches, HaveAVersionInTheirKey) {
  EXPECT_EQ(found("one"), 0u);

  EXPECT_THAT(gantry::test::read_cached_file(files()[0]).key,
              StartsWith(DiskCache::key({"vulkan pipelines 1"})));
}

TEST_F(PipelineCaches, OfModulesOfOneSizeDiffer) {
  use_module();
  // The second word behind the shader's magic number names the compiler.
  constexpr std::uint8_t magic[] = {3, 2, 0x23, 7};
  auto other = bytes;
  *(std::search(other.begin(), other.end(), std::begin(magic), std::end(magic)) + 8) ^= 1;
  auto module = load(other, 3).value();
  ASSERT_TRUE(module->pipeline(*module->find("axpy2_kernel0").value(), device()).ok());

  module.reset();

  EXPECT_THAT(files(), SizeIs(2));
}

TEST_F(PipelineCaches, AreRebuiltAfterDamage) {
  EXPECT_EQ(found("one"), 0u);
  std::vector<std::uint8_t> content = gantry::test::read_file(files()[0]);
  content[content.size() / 2] ^= 1;
  gantry::test::write_file(files()[0], content);

  EXPECT_EQ(found("one"), 0u);
  ASSERT_THAT(host.log, SizeIs(1));
  EXPECT_THAT(host.log[0], HasSubstr("is ignored: checksum does not match"));
  EXPECT_GT(found("one"), 0u);
}

TEST_F(PipelineCaches, AreNotStoredWithoutADirectory) {
  start({});

  use_module();

  EXPECT_EQ(plugin->disk(), nullptr);
  EXPECT_THAT(files(), SizeIs(0));
}

}  // namespace
}  // namespace gantry::vulkan::test
