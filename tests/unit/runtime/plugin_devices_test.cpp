// SPDX-License-Identifier: Apache-2.0
//
// The devices of a plugin that is part of the test.
#include "tests/unit/library/world.hpp"
#include "tests/unit/runtime/plugin_in_use.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/engine/native/device_numbers.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::PluginInUse;
using test::program_plugin;
using ::testing::HasSubstr;

TEST_F(PluginInUse, IsSynchronizedByTheRuntime) {
  Runtime runtime = with_plugin();
  const gantry_device_id second = runtime.device("test_npu:1").value();

  ASSERT_TRUE(runtime.synchronize(second).ok());
  EXPECT_THAT(program_plugin().synchronized, ::testing::ElementsAre(1));

  program_plugin().is_lost = true;
  const Status lost = runtime.synchronize(second);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().reason, "LOST");
  EXPECT_THAT(lost.error().message,
              HasSubstr("the unit is lost\n  while waiting for device test_npu:1"));
}

TEST_F(PluginInUse, IsNotSynchronizedForADeviceThatItDoesNotHave) {
  Runtime runtime = with_plugin();
  const std::int32_t type = runtime.device("test_npu").value().type;

  for (const std::int32_t index : {-1, 2}) {
    const Status done = runtime.synchronize({type, index});

    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, Code::not_found);
    EXPECT_EQ(done.error().message,
              concat("device \"test_npu:", index, "\" not found; test_npu has 2 devices"));
  }
  EXPECT_THAT(program_plugin().synchronized, ::testing::IsEmpty());
}

// Calls device_get() as the plugin of the program. Returns the reason of the error, or "OK".
std::string reason_of_device_get(std::int32_t type) {
  const gantry_host* host = program_plugin().host;
  gantry_device device{};
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* failure) {
    return host->device_get(host, {type, 0}, &device, failure);
  });
  return code == GANTRY_OK ? "OK" : status.error(code, "device_get").reason;
}

TEST_F(PluginInUse, ReceivesNoOtherDeviceWhileItIsDestroyed) {
  std::string reason;
  program_plugin().destroying = [&] { reason = reason_of_device_get(4); };

  { ASSERT_TRUE(with_plugin().device("test_npu").ok()); }

  EXPECT_EQ(reason, "RUNTIME_ENDS");
}

// Plugins are destroyed in the reverse order of their creation.
TEST_F(PluginInUse, ReceivesDevicesOfOlderPluginsOnlyWhileItIsDestroyed) {
  test::World world;
  world.add("other", "good");
  for (const bool other_is_older : {true, false}) {
    std::int32_t type = 0;
    std::string reason;
    program_plugin().destroying = [&] { reason = reason_of_device_get(type); };
    {
      RuntimeOptions options;
      options.plugin_paths = {world.path().string()};
      options.only_these_plugins = true;
      Runtime runtime = with_plugin(std::move(options));
      if (!other_is_older) {
        ASSERT_TRUE(runtime.device("test_npu").ok());
      }
      type = runtime.device("fake_device").value().type;
      ASSERT_TRUE(runtime.device("test_npu").ok());
    }

    EXPECT_EQ(reason, other_is_older ? "OK" : "RUNTIME_ENDS");
  }
}

// The device number 12 in a plugin's graph or table, if two devices may be meant.
TEST_F(PluginInUse, ReceivesNoDeviceForAnAmbiguousNumber) {
  Runtime runtime = with_plugin();
  const Module model = runtime.load(file_of({{"test.block", "root"}})).value();
  const std::int32_t npu = runtime.device("test_npu").value().type;
  const gantry_host* host = program_plugin().host;
  auto& node = *reinterpret_cast<ModuleNode*>(model.get());
  const auto asked = [&](std::int32_t& type, gantry_status* said) {
    return host->device_type_in(host, model.get(), 12, &type, said);
  };
  std::int32_t type = 0;

  node.ext_devs = ext_dev_bit(npu);
  EXPECT_EQ(asked(type, nullptr), GANTRY_OK);
  EXPECT_EQ(type, npu);
  node.ext_devs = ext_dev_bit(npu) | ext_dev_bit(npu + 1);
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* said) { return asked(type, said); });

  EXPECT_EQ(code, GANTRY_UNSUPPORTED);
  EXPECT_THAT(status.error(code, "device_type_in").message,
              HasSubstr("device type 12, ext_dev, in its code is ambiguous"));
  EXPECT_EQ(type, npu) << "written although it fails";
}

// A number without a device is refused where the device is used.
TEST_F(PluginInUse, ReceivesNumbersWithoutADeviceUnchanged) {
  Runtime runtime = with_plugin();
  const Module model = runtime.load(file_of({{"test.block", "root"}})).value();
  const gantry_host* host = program_plugin().host;

  for (const std::int32_t number : {-1, 4, 12, 1000}) {
    std::int32_t type = 0;
    EXPECT_EQ(host->device_type_in(host, model.get(), number, &type, nullptr), GANTRY_OK);
    EXPECT_EQ(type, number);
  }
}

TEST_F(PluginInUse, CanReadTheNumberOfItsDeviceWhileItIsCreated) {
  Runtime runtime = with_plugin();

  const auto id = runtime.device("test_npu:1");

  ASSERT_TRUE(id.ok()) << id.error().message;
  EXPECT_EQ(id->type, 64);
  EXPECT_EQ(id->index, 1);
  EXPECT_EQ(program_plugin().device_number, 64);
  EXPECT_EQ(runtime.device("test_npu:2").error().message,
            "device \"test_npu:2\" not found; test_npu has 2 devices");
}

TEST_F(PluginInUse, AppearsAmongTheDevices) {
  RuntimeOptions options;
  // not of a driver
  options.only_these_plugins = true;
  Runtime runtime = with_plugin(std::move(options));

  const auto [devices, problems] = runtime.devices().value();

  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0].name, "cpu");
  EXPECT_EQ(devices[2].name, "test_npu");
  EXPECT_EQ(devices[2].id.index, 1);
  EXPECT_EQ(devices[2].plugin, "test.program");
  EXPECT_FALSE(devices[0].attributes.empty());
  EXPECT_TRUE(devices[2].attributes.empty()) << "it has no function that returns them";
}

TEST_F(PluginInUse, IsListedByTheNameOfItsDevice) {
  const Runtime runtime = with_plugin();
  RuntimeState& state = *state_of(runtime.get());
  std::vector<Error> problems;

  EXPECT_EQ(list_devices(state, "test_npu", problems).size(), 2u);
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(list_devices(state, "acme_npu", problems).empty());
  EXPECT_EQ(problems.size(), 1u);
}

TEST_F(PluginInUse, IsAmongTheProblemsIfItCannotBeCreated) {
  program_plugin().refusals = 1;
  Runtime runtime = with_plugin();

  const auto [devices, problems] = runtime.devices().value();

  EXPECT_EQ(devices.size(), 1u) << "the CPU";
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems.front(), HasSubstr("the unit is busy"));
}

TEST_F(PluginInUse, IsAmongTheProblemsIfItCannotCountItsDevices) {
  program_plugin().count = -1;
  Runtime runtime = with_plugin();

  const auto [devices, problems] = runtime.devices().value();

  EXPECT_EQ(devices.size(), 1u) << "the CPU";
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems.front(), "device test_npu (plugin test.program) reports -1 devices");
}

TEST_F(PluginInUse, MayHaveNoDevice) {
  program_plugin().count = 0;
  Runtime runtime = with_plugin();

  const auto [devices, problems] = runtime.devices().value();

  EXPECT_EQ(devices.size(), 1u) << "the CPU";
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(runtime.device("test_npu").error().message,
            "device \"test_npu\" not found; test_npu has 0 devices");
}

}  // namespace
}  // namespace gantry
