// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/device_numbers.hpp"

#include "tests/support/artifact.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Ref<ModuleNode>> file_of(std::initializer_list<const char*> type_keys) {
  const auto artifact = test::artifact_of(type_keys);
  std::vector<Ref<ModuleNode>> nodes;
  for (std::size_t i = 0; i < type_keys.size(); ++i) nodes.push_back(test::node_of(artifact, i));
  return nodes;
}

void set_device_numbers(const std::vector<Ref<ModuleNode>>& nodes, Generation generation,
                        const DeviceSet& devices) {
  Artifact& artifact = test::artifact_of(*nodes[0]);
  artifact.container.facts.generation = generation;
  artifact.device_numbers = converted_device_numbers(artifact.container, devices);
}

const gantry_device_table* table_of(const char* name, std::int32_t type) {
  static std::vector<std::unique_ptr<gantry_device_table>> tables;
  auto table = std::make_unique<gantry_device_table>();
  table->struct_size = sizeof *table;
  table->name = name;
  table->type = type;
  return tables.emplace_back(std::move(table)).get();
}

TEST(DeviceNumbers, TranslatesAnOldFileInBothDirections) {
  DeviceSet devices;
  const auto nodes = file_of({"GraphExecutorFactory", "_lib", "hexagon"});

  set_device_numbers(nodes, Generation::g2, devices);

  for (const auto& node : nodes) {
    EXPECT_EQ(to_runtime(*node, 14), 16);
    EXPECT_EQ(to_artifact(*node, 16), 14);
    EXPECT_EQ(to_runtime(*node, 1), 1);
  }
}

TEST(DeviceNumbers, AcceptsBothNumbersOfALaterFileAndPassesTheNewer) {
  DeviceSet devices;
  const auto nodes = file_of({"_lib", "hexagon"});

  set_device_numbers(nodes, Generation::g3, devices);

  EXPECT_EQ(to_runtime(*nodes[0], 14), 16);
  EXPECT_EQ(to_runtime(*nodes[0], 16), 16);
  EXPECT_EQ(to_artifact(*nodes[0], 16), 16);
}

// In such a file 14 is oneapi and 11 is rocm_host.
TEST(DeviceNumbers, DoesNotTranslateAFileWithoutSuchADevice) {
  DeviceSet devices;
  for (const auto generation : {Generation::g2, Generation::g3}) {
    const auto nodes = file_of({"_lib", "opencl"});

    set_device_numbers(nodes, generation, devices);

    EXPECT_THAT(nodes[0]->artifact->device_numbers, IsEmpty());
  }
}

TEST(DeviceNumbers, HaveABitFrom64To126) {
  EXPECT_EQ(ext_dev_bit(63), 0u);
  EXPECT_EQ(ext_dev_bit(64), 1u);
  EXPECT_EQ(ext_dev_bit(126), std::uint64_t{1} << 62);
  EXPECT_EQ(ext_dev_bit(127), 0u);
  EXPECT_EQ(ext_dev_bit(12), std::uint64_t{1} << 63) << "a device named ext_dev";
}

TEST(DeviceNumbers, TranslatesNumbersThatTheRuntimeAssigns) {
  struct Case {
    const char* key;
    std::int32_t before, since;
  };
  for (const auto& [key, before, since] :
       {Case{"aocl", 5, 32}, {"sdaccel", 6, 33}, {"opengl", 11, 34}}) {
    DeviceSet devices;
    const std::int32_t number = *devices.add(key, nullptr, table_of(key, 0));
    const auto old = file_of({"_lib", key}), newer = file_of({"_lib", key});

    set_device_numbers(old, Generation::g2, devices);
    set_device_numbers(newer, Generation::g3, devices);

    EXPECT_EQ(to_runtime(*old[0], before), number) << key;
    EXPECT_EQ(to_artifact(*old[0], number), before) << key;
    EXPECT_EQ(to_runtime(*newer[0], before), number) << key;
    EXPECT_EQ(to_runtime(*newer[0], since), number) << key;
    EXPECT_EQ(to_artifact(*newer[0], number), since) << key;
  }
}

// Modules of devices that the runtime numbers, and the modules that reach them.
class ExtDev : public ::testing::Test {
 protected:
  ExtDev() {
    acme = *devices.reserve("acme", table_of("acme", 12), "plugin.a");
    bolt = *devices.reserve("bolt", table_of("bolt", 0), "plugin.b");
    for (const std::int32_t type : {acme, bolt}) devices.serve(type, nullptr);
    devices.add("opencl", nullptr, table_of("opencl", 4)).value();
  }
  Status add(ModuleNode& node, std::string_view kind, Generation generation = Generation::g3) {
    test::artifact_of(node).container.facts.generation = generation;
    return add_ext_dev(*nodes[0], node, ext_dev_of(kind, devices), devices);
  }

  DeviceSet devices;
  std::int32_t acme = 0, bolt = 0;
  // factory -> _lib -> {acme.key, opencl}, factory -> _lib -> bolt.key
  std::vector<Ref<ModuleNode>> nodes = [] {
    auto all = file_of({"factory", "_lib", "_lib", "acme.key", "opencl", "bolt.key"});
    for (const auto& [parent, child] : {std::pair{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}})
      all[static_cast<std::size_t>(parent)]->imports.push_back(
          all[static_cast<std::size_t>(child)]);
    return all;
  }();
};

TEST_F(ExtDev, IsTheDeviceOfTheReachableModules) {
  ASSERT_TRUE(add(*nodes[3], "acme").ok());
  ASSERT_TRUE(add(*nodes[4], "opencl").ok());
  ASSERT_TRUE(add(*nodes[5], "bolt").ok());

  for (const std::size_t i : {1, 3}) {
    EXPECT_EQ(to_runtime(*nodes[i], 12), acme) << i;
    EXPECT_EQ(to_artifact(*nodes[i], acme), 12) << i;
    EXPECT_EQ(to_artifact(*nodes[i], bolt), bolt) << i;
    EXPECT_TRUE(translates_devices(*nodes[i])) << i;
  }
  for (const std::size_t i : {2, 5}) EXPECT_EQ(to_runtime(*nodes[i], 12), bolt) << i;
  EXPECT_EQ(to_runtime(*nodes[4], 12), 12) << "the OpenCL module reaches no such device";
  EXPECT_FALSE(translates_devices(*nodes[4]));
}

TEST_F(ExtDev, IsRejectedIfItIsAmbiguous) {
  ASSERT_TRUE(add(*nodes[3], "acme").ok());
  ASSERT_TRUE(add(*nodes[5], "bolt").ok());

  const Status status = check_ext_dev(*nodes[0], nodes[0]->ext_devs, devices);

  EXPECT_EQ(to_runtime(*nodes[0], 12), 12);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::unsupported);
  EXPECT_EQ(status.error().reason, "EXT_DEV");
  EXPECT_EQ(status.error().message,
            "entry 0 \"factory\" of model.so reaches modules of device acme (plugin plugin.a) and "
            "device bolt (plugin plugin.b): "
            "device type 12, ext_dev, in its code is ambiguous; compile separate CPU code for the "
            "modules of each device");
  EXPECT_TRUE(check_ext_dev(*nodes[1], nodes[1]->ext_devs, devices).ok());
}

// A rejected module changes none of the nodes.
TEST_F(ExtDev, RejectsAModuleThatMakesItAmbiguous) {
  ASSERT_TRUE(add(*nodes[3], "acme").ok());

  const Status refused = add(*nodes[4], "bolt");

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "EXT_DEV");
  EXPECT_EQ(to_runtime(*nodes[0], 12), acme);
  EXPECT_EQ(to_runtime(*nodes[1], 12), acme);
  EXPECT_EQ(to_runtime(*nodes[4], 12), 12);
}

TEST_F(ExtDev, IsTheDeviceBelowTheRootInOldCpuCode) {
  ASSERT_TRUE(add(*nodes[3], "acme", Generation::g2).ok());

  EXPECT_EQ(to_runtime(*nodes[2], 12), acme);
  EXPECT_EQ(to_runtime(*nodes[4], 12), 12) << "it has no CPU code";
  const Status refused = add(*nodes[5], "bolt", Generation::g2);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "EXT_DEV");
}

// 12 is the device with the name "ext_dev" if there is one.
TEST_F(ExtDev, MayBeTheNameOfADevice) {
  devices.add("ext_dev", nullptr, table_of("ext_dev", 12)).value();
  ASSERT_TRUE(add(*nodes[3], "ext_dev").ok());

  EXPECT_EQ(to_runtime(*nodes[1], 12), 12);
  EXPECT_EQ(to_artifact(*nodes[1], acme), acme);
  const Status refused = add(*nodes[4], "acme");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              HasSubstr("of device ext_dev and device acme (plugin plugin.a): "));
}

TEST_F(ExtDev, IsNotADeviceWithAStandardNumberOrAnAbsentDevice) {
  EXPECT_EQ(ext_dev_of("opencl", devices), 0u);
  EXPECT_EQ(ext_dev_of("cpu", devices), 0u);
  EXPECT_EQ(ext_dev_of("missing", devices), 0u);
  devices.add("aocl", nullptr, table_of("aocl", 0)).value();
  EXPECT_EQ(ext_dev_of("aocl", devices), 0u) << "5 or 32 in compiled code";
}

TEST(DeviceNumbers, DoesNotTranslateForAnAbsentDevice) {
  DeviceSet devices;
  const auto nodes = file_of({"_lib", "aocl"});

  set_device_numbers(nodes, Generation::g2, devices);

  EXPECT_THAT(nodes[0]->artifact->device_numbers, IsEmpty());
}

TEST(DeviceNumbers, TranslateOnlyExtDevToTheDeviceOfAModule) {
  const auto nodes = file_of({"_lib"});
  nodes[0]->ext_devs = ext_dev_bit(64);

  EXPECT_EQ(to_runtime(*nodes[0], 12), 64);
  EXPECT_EQ(to_runtime(*nodes[0], 7), 7);
}

}  // namespace
}  // namespace gantry
