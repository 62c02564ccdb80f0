// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/device_set.hpp"

#include "core/engine/tensor/cpu_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gantry {
namespace {

using ::testing::ElementsAre;

gantry_device_table table_of(std::int32_t type) {
  gantry_device_table table = *cpu_device_table();
  table.type = type;
  return table;
}

TEST(DeviceName, HasIndexZeroByDefault) {
  EXPECT_EQ(parse_device_name("cpu")->kind, "cpu");
  EXPECT_EQ(parse_device_name("cpu")->index, 0);
  EXPECT_EQ(parse_device_name("acme.npu:12")->kind, "acme.npu");
  EXPECT_EQ(parse_device_name("acme.npu:12")->index, 12);
  EXPECT_EQ(parse_device_name("cuda:2147483647")->index, 2147483647);
}

struct BadName {
  const char* name;
  const char* text;
  const char* message;
};

class InvalidDeviceName : public ::testing::TestWithParam<BadName> {};

TEST_P(InvalidDeviceName, IsRejected) {
  const Result<DeviceName> name = parse_device_name(GetParam().text);

  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().code, Code::invalid);
  EXPECT_EQ(name.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, InvalidDeviceName,
    ::testing::Values(
        BadName{"Empty", "", "device \"\" has no kind, expected a form like \"cpu:0\""},
        BadName{"NoKind", ":1", "device \":1\" has no kind, expected a form like \"cpu:0\""},
        BadName{"NoIndex",
                "cpu:", "device \"cpu:\": index \"\" is not a number from 0 to 2147483647"},
        BadName{"Negative", "cpu:-1",
                "device \"cpu:-1\": index \"-1\" is not a number from 0 to 2147483647"},
        BadName{"MinusZero", "cpu:-0",
                "device \"cpu:-0\": index \"-0\" is not a number from 0 to 2147483647"},
        BadName{"Plus", "cpu:+1",
                "device \"cpu:+1\": index \"+1\" is not a number from 0 to 2147483647"},
        BadName{"Behind", "cpu:1x",
                "device \"cpu:1x\": index \"1x\" is not a number from 0 to 2147483647"},
        BadName{"TwoIndices", "cpu:1:2",
                "device \"cpu:1:2\": index \"1:2\" is not a number from 0 to 2147483647"},
        BadName{"TooLarge", "cpu:2147483648",
                "device \"cpu:2147483648\": index \"2147483648\" is not a number from 0 to "
                "2147483647"}),
    [](const auto& test) { return test.param.name; });

TEST(DeviceSet, ContainsTheCpu) {
  const DeviceSet devices;

  ASSERT_NE(devices.find(kCpu), nullptr);
  EXPECT_EQ((*devices.find(kCpu))->name, "cpu");
  EXPECT_EQ((*devices.find("cpu"))->table, cpu_device_table());
}

TEST(DeviceSet, KeepsTheNumberOfATable) {
  DeviceSet devices;
  const gantry_device_table opencl = table_of(4);
  int self = 0;

  const Result<std::int32_t> number = devices.add("opencl", &self, &opencl);

  ASSERT_TRUE(number.ok()) << number.error().message;
  EXPECT_EQ(*number, 4);
  EXPECT_EQ((*devices.find(4))->self, &self);
  EXPECT_EQ((*devices.find("opencl"))->table, &opencl);
}

TEST(DeviceSet, AssignsNumbersInOrderOfRegistration) {
  DeviceSet devices;
  const gantry_device_table table = table_of(0);

  EXPECT_EQ(*devices.add("acme.npu", nullptr, &table), 64);
  EXPECT_EQ(*devices.add("acme.dsp", nullptr, &table), 65);
}

TEST(DeviceSet, ListsDevicesByNumber) {
  DeviceSet devices;
  const gantry_device_table own = table_of(0), vulkan = table_of(7);
  ASSERT_TRUE(devices.add("acme.npu", nullptr, &own).ok());
  ASSERT_TRUE(devices.add("vulkan", nullptr, &vulkan).ok());

  std::vector<std::string> names;
  for (const auto& device : devices.all()) names.push_back(device->name);

  EXPECT_THAT(names, ElementsAre("cpu", "vulkan", "acme.npu"));
}

TEST(DeviceSet, AssignsANumberBeforeTheDeviceIsPublished) {
  DeviceSet devices;
  const gantry_device_table table = table_of(0);
  int self = 0;

  const std::int32_t type = devices.reserve("acme.npu", &table).value();
  EXPECT_EQ(devices.find(type), nullptr);
  EXPECT_EQ(*devices.number_of("acme.npu"), type);
  devices.serve(type, &self);

  ASSERT_NE(devices.find(type), nullptr);
  EXPECT_EQ((*devices.find(type))->self, &self);
}

TEST(DeviceSet, RejectsAReservedNameUntilItIsWithdrawn) {
  DeviceSet devices;
  const gantry_device_table table = table_of(0), other = table_of(0);
  const std::int32_t type = devices.reserve("acme.npu", &table).value();

  const auto again = devices.reserve("acme.npu", &other);
  devices.withdraw(type);
  const auto after = devices.reserve("acme.npu", &other);

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message,
            "device acme.npu: the name is already used by the core; remove one of the plugins or "
            "rename one of the devices");
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(*after, type);
}

// Several devices may have tables of type 12, but names are unique.
TEST(DeviceSet, HasAtMostOneDeviceNamedExtDev) {
  DeviceSet devices;
  const gantry_device_table table = table_of(12), other = table_of(12);
  ASSERT_TRUE(devices.reserve("ext_dev", &table, "acme.npu").ok());

  const auto again = devices.reserve("ext_dev", &other, "bolt.dsp");
  const auto renamed = devices.reserve("bolt", &other, "bolt.dsp");

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message,
            "device ext_dev: the name is already used by plugin acme.npu; remove one of the "
            "plugins or rename one of the devices; code compiled for ext_dev, 12, also works with "
            "another name");
  ASSERT_TRUE(renamed.ok()) << renamed.error().message;
  EXPECT_EQ(*renamed, 64);
}

TEST(DeviceSet, LendsDevicesThatKeepTheOwnerAlive) {
  auto owner = std::make_shared<DeviceSet>();
  owner->keep(owner);
  const std::weak_ptr<DeviceSet> watched = owner;

  const auto plain = owner->get(kCpu).value();
  auto given = owner->lend(kCpu).value();
  owner.reset();
  EXPECT_FALSE(watched.expired());
  given.reset();

  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(plain->name, "cpu");
}

struct BadDevice {
  const char* name;
  const char* device;
  std::int32_t type;
  const char* message;
};

class InvalidDevice : public ::testing::TestWithParam<BadDevice> {};

// The set contains cpu, 1, and opencl, 4.
TEST_P(InvalidDevice, IsRejected) {
  DeviceSet devices;
  const gantry_device_table opencl = table_of(4), table = table_of(GetParam().type);
  ASSERT_TRUE(devices.add("opencl", nullptr, &opencl).ok());

  const Result<std::int32_t> number = devices.add(GetParam().device, nullptr, &table);

  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.error().code, Code::invalid);
  EXPECT_EQ(number.error().message, GetParam().message);
  EXPECT_EQ(devices.all().size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(
    Devices, InvalidDevice,
    ::testing::Values(
        BadDevice{"NoName", "", 0, "device name \"\" is empty or contains a colon"},
        BadDevice{"Colon", "npu:0", 0, "device name \"npu:0\" is empty or contains a colon"},
        BadDevice{"NameTaken", "opencl", 0,
                  "device opencl: the name is already used by the core; remove one of the plugins "
                  "or rename one of the devices"},
        BadDevice{"NumberTaken", "acme.npu", 4,
                  "device acme.npu: number 4 is already used by device opencl"},
        BadDevice{"Negative", "acme.npu", -1,
                  "device acme.npu: number is -1, expected a DLPack number (1 to 63) or 0"},
        BadDevice{"Assigned", "acme.npu", 64,
                  "device acme.npu: number is 64, expected a DLPack number (1 to 63) or 0"},
        BadDevice{"OtherNumberOfAKnownName", "vulkan", 8,
                  "device vulkan: number is 8, DLPack's is 7"},
        BadDevice{"NoNumberOfAKnownName", "vulkan", 0,
                  "device vulkan: number is 0, DLPack's is 7"}),
    [](const auto& test) { return test.param.name; });

// Compilers use 12 for all of them; a runtime assigns each its own number.
TEST(DeviceSet, AssignsNumbersToDevicesOfTypeExtDev) {
  DeviceSet devices;
  const gantry_device_table table = table_of(12);

  EXPECT_EQ(*devices.add("acme", nullptr, &table), 64);
  EXPECT_EQ(*devices.add("bolt", nullptr, &table), 65);
  EXPECT_EQ(*devices.add("ext_dev", nullptr, &table), 12) << "the name matches";
}

TEST(DeviceSet, RejectsADeviceIfAllNumbersAreInUse) {
  DeviceSet devices;
  const gantry_device_table table = table_of(0);
  for (int i = 64; i < 128; ++i) {
    ASSERT_TRUE(devices.add(concat("npu", i), nullptr, &table).ok()) << i;
  }

  const Result<std::int32_t> number = devices.add("one more", nullptr, &table);

  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.error().code, Code::exhausted);
  EXPECT_EQ(number.error().message, "device one more: all numbers from 64 to 127 are in use");
}

TEST(DeviceSet, ReturnsDlpackNumbersOfAbsentDevices) {
  DeviceSet devices;
  const gantry_device_table table = table_of(0);
  ASSERT_TRUE(devices.add("acme.npu", nullptr, &table).ok());

  EXPECT_EQ(*devices.number_of("cpu"), 1);
  EXPECT_EQ(*devices.number_of("vulkan"), 7);
  EXPECT_EQ(*devices.number_of("acme.npu"), 64);
}

TEST(DeviceSet, ListsTheDevicesForAnUnknownName) {
  const Result<std::int32_t> number = DeviceSet().number_of("npu");

  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.error().code, Code::not_found);
  EXPECT_EQ(number.error().message, "device \"npu\" not found; devices: cpu");
}

TEST(DeviceSet, ListsTheDevicesForAnUnknownNumber) {
  DeviceSet devices;
  const gantry_device_table opencl = table_of(4);
  ASSERT_TRUE(devices.add("opencl", nullptr, &opencl).ok());

  const auto known = devices.get(7);
  const auto unknown = devices.get(99);

  ASSERT_FALSE(known.ok());
  EXPECT_EQ(known.error().code, Code::not_found);
  EXPECT_EQ(known.error().message, "device number 7 (vulkan) not found; devices: cpu, opencl");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message, "device number 99 not found; devices: cpu, opencl");
}

TEST(DeviceSet, FindsNothingForUnknownNumbersAndNames) {
  const DeviceSet devices;

  EXPECT_EQ(devices.find(-1), nullptr);
  EXPECT_EQ(devices.find(0), nullptr);
  EXPECT_EQ(devices.find(128), nullptr);
  EXPECT_EQ(devices.find(INT32_MIN), nullptr);
  EXPECT_EQ(devices.find("none"), nullptr);
}

TEST(DeviceSet, CanBeReadWhileDevicesAreAdded) {
  DeviceSet devices;
  const gantry_device_table table = table_of(0);
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      for (std::int32_t type = 64; type < 128; ++type) {
        const auto* device = devices.find(type);
        if (device != nullptr) {
          ASSERT_EQ((*device)->type, type);
        }
      }
    }
  });

  for (int i = 64; i < 128; ++i) {
    ASSERT_TRUE(devices.add(concat("npu", i), nullptr, &table).ok());
  }
  done = true;
  reader.join();

  EXPECT_EQ(devices.all().size(), 65u);
}

TEST(DlpackName, IsEmptyForUnknownNumbers) {
  EXPECT_EQ(dlpack_name(2), "cuda");
  EXPECT_EQ(dlpack_name(4), "opencl");
  EXPECT_EQ(dlpack_name(7), "vulkan");
  EXPECT_EQ(dlpack_name(5), "");
  EXPECT_EQ(dlpack_name(0), "");
}

TEST(DeviceSet, AssignsAWithdrawnNumberAgainOnlyIfItIsTheLastOne) {
  DeviceSet devices;
  const gantry_device_table table = table_of(0);
  const std::int32_t first = devices.reserve("a", &table).value();
  ASSERT_EQ(*devices.reserve("b", &table), 65);

  devices.withdraw(first);

  EXPECT_EQ(*devices.reserve("c", &table), 66);
}

TEST(DeviceSet, AssignsNoNumberOfDlpackAfterItIsWithdrawn) {
  DeviceSet devices;
  const gantry_device_table last = table_of(63), table = table_of(0);
  const std::int32_t type = devices.reserve("a", &last).value();
  ASSERT_EQ(type, 63);

  devices.withdraw(type);

  EXPECT_EQ(*devices.reserve("b", &table), 64);
}

}  // namespace
}  // namespace gantry
