// SPDX-License-Identifier: Apache-2.0
#include "core/host/device_numbers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

using ::testing::IsEmpty;

std::vector<Ref<ModuleNode>> file_of(std::initializer_list<const char*> type_keys) {
  std::vector<Ref<ModuleNode>> nodes;
  for (const char* key : type_keys) nodes.push_back(std::move(new_module_node(key, "m")).value());
  return nodes;
}

const gantry_device_table* table_of(const char* name, std::int32_t type) {
  static std::vector<std::unique_ptr<gantry_device_table>> tables;
  auto table = std::make_unique<gantry_device_table>();
  table->struct_size = sizeof *table;
  table->name = name;
  table->type = type;
  return tables.emplace_back(std::move(table)).get();
}

TEST(DeviceNumbers, OfAnOldFileAreTranslatedBothWays) {
  DeviceSet devices;
  const auto nodes = file_of({"GraphExecutorFactory", "_lib", "hexagon"});

  set_device_numbers(nodes, true, {}, devices);

  for (const auto& node : nodes) {
    EXPECT_EQ(to_runtime(*node, 14), 16);
    EXPECT_EQ(to_artifact(*node, 16), 14);
    EXPECT_EQ(to_runtime(*node, 1), 1);
  }
}

TEST(DeviceNumbers, OfAFileThatMayBeNewerAreTakenBothAndGivenAsTheNewer) {
  DeviceSet devices;
  const auto nodes = file_of({"_lib", "hexagon"});

  set_device_numbers(nodes, false, {}, devices);

  EXPECT_EQ(to_runtime(*nodes[0], 14), 16);
  EXPECT_EQ(to_runtime(*nodes[0], 16), 16);
  EXPECT_EQ(to_artifact(*nodes[0], 16), 16);
}

// 14 is oneapi's and 11 rocm_host's, where nothing says otherwise.
TEST(DeviceNumbers, AreLeftAloneWhereNoSuchDeviceIsUsed) {
  DeviceSet devices;
  for (const bool old : {true, false}) {
    const auto nodes = file_of({"_lib", "opencl"});

    set_device_numbers(nodes, old, {}, devices);

    EXPECT_THAT(nodes[0]->device_numbers, IsEmpty());
  }
}

TEST(DeviceNumbers, ThatTheRuntimeAssignsAreThoseOfTheArtifactToItsCode) {
  struct Case {
    const char* key;
    std::int32_t before, since;
  };
  for (const auto& [key, before, since] :
       {Case{"aocl", 5, 32}, {"sdaccel", 6, 33}, {"opengl", 11, 34}}) {
    DeviceSet devices;
    const std::int32_t number = *devices.add(key, nullptr, table_of(key, 0));
    const auto old = file_of({"_lib", key}), newer = file_of({"_lib", key});

    set_device_numbers(old, true, {}, devices);
    set_device_numbers(newer, false, {}, devices);

    EXPECT_EQ(to_runtime(*old[0], before), number) << key;
    EXPECT_EQ(to_artifact(*old[0], number), before) << key;
    EXPECT_EQ(to_runtime(*newer[0], before), number) << key;
    EXPECT_EQ(to_runtime(*newer[0], since), number) << key;
    EXPECT_EQ(to_artifact(*newer[0], number), since) << key;
  }
}

// Two plugins claim it; each file means the one whose modules it imports.
TEST(DeviceNumbers, ExtDevIsTheAssignedDeviceThatTheFileRunsOn) {
  DeviceSet devices;
  const std::int32_t acme = *devices.add("acme", nullptr, table_of("acme", 12));
  const std::int32_t bolt = *devices.add("bolt", nullptr, table_of("bolt", 0));
  const auto first = file_of({"_lib", "acme.key"}), second = file_of({"_lib", "bolt.key"});

  set_device_numbers(first, false, std::vector<std::string_view>{"opencl", "acme", "bolt"},
                     devices);
  set_device_numbers(second, false, std::vector<std::string_view>{"bolt"}, devices);

  EXPECT_NE(acme, bolt);
  EXPECT_EQ(to_runtime(*first[0], 12), acme);
  EXPECT_EQ(to_artifact(*first[1], acme), 12);
  EXPECT_EQ(to_artifact(*first[0], bolt), bolt);
  EXPECT_EQ(to_runtime(*second[1], 12), bolt);
  EXPECT_EQ(to_artifact(*second[0], bolt), 12);
}

// 12 is nothing there that a file of OpenCL could mean by it.
TEST(DeviceNumbers, ExtDevIsItselfToAFileThatRunsOnNumberedDevices) {
  DeviceSet devices;
  devices.add("acme", nullptr, table_of("acme", 12)).value();
  const auto nodes = file_of({"_lib", "opencl"});

  set_device_numbers(nodes, false, std::vector<std::string_view>{"opencl"}, devices);

  EXPECT_THAT(nodes[0]->device_numbers, IsEmpty());
}

TEST(DeviceNumbers, OfADeviceThatIsNotThereStayAsTheyAre) {
  DeviceSet devices;
  const auto nodes = file_of({"_lib", "aocl"});

  set_device_numbers(nodes, true, {}, devices);

  EXPECT_THAT(nodes[0]->device_numbers, IsEmpty());
}

}  // namespace
}  // namespace gantry
