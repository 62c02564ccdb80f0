// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/options.hpp"
#include "plugins/vulkan/driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace gantry::vulkan::test {
namespace {

// A host with options only.
struct OptionHost {
  gantry_host table{};
  std::map<std::string, gantry_value, std::less<>> values;

  OptionHost() {
    table.struct_size = sizeof table;
    table.config_get = [](const gantry_host* self, gantry_bytes key, gantry_value* out,
                          gantry_status* status) -> gantry_code {
      const auto& all = reinterpret_cast<const OptionHost*>(self)->values;
      const auto found = all.find(view_of(key));
      if (found == all.end()) return gantry_fail(status, GANTRY_NOT_FOUND, "CONFIG", "none");
      *out = found->second;
      return GANTRY_OK;
    };
  }
  void set(std::string key, const char* text) {
    gantry_value value{};
    value.kind = GANTRY_CSTRING;
    value.cstring = text;
    values[std::move(key)] = value;
  }
};

TEST(PluginOptions, HaveDefaults) {
  const OptionHost host;

  const auto options = read_options(Host(&host.table));

  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_FALSE(options->validation);
  EXPECT_TRUE(options->software_devices);
  EXPECT_TRUE(options->pipeline_cache);
  EXPECT_EQ(options->memory, MemoryChoice::automatic);
  EXPECT_EQ(options->descriptors, DescriptorChoice::automatic);
}

TEST(PluginOptions, AreReadFromTheHost) {
  OptionHost host;
  host.values["validation"] = bool_value(true);
  host.values["software_devices"] = bool_value(false);
  host.values["pipeline_cache"] = bool_value(false);
  host.set("memory", "staged");
  host.set("descriptors", "push");

  const auto options = read_options(Host(&host.table));

  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_TRUE(options->validation);
  EXPECT_FALSE(options->software_devices);
  EXPECT_FALSE(options->pipeline_cache);
  EXPECT_EQ(options->memory, MemoryChoice::staged);
  EXPECT_EQ(options->descriptors, DescriptorChoice::push);
}

TEST(PluginOptions, RejectInvalidValues) {
  OptionHost host;
  host.set("memory", "fast");

  const auto memory = read_options(Host(&host.table));
  host.values["memory"] = int_value(3);
  const auto number = read_options(Host(&host.table));
  host.values.clear();
  host.set("validation", "yes");
  const auto text = read_options(Host(&host.table));

  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code, Code::invalid);
  EXPECT_EQ(memory.error().reason, "CONFIG");
  EXPECT_EQ(memory.error().message, "option memory is \"fast\", expected auto, mapped or staged");
  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.error().message, "option memory is not text");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message, "option validation is not a bool");
}

TEST(DriverErrors, HaveACodeByResult) {
  const Error memory = driver_error(VK_ERROR_OUT_OF_DEVICE_MEMORY, "vkAllocateMemory");
  const Error gone = driver_error(VK_ERROR_DEVICE_LOST, "vkQueueSubmit");

  EXPECT_EQ(memory.code, Code::exhausted);
  EXPECT_EQ(memory.message, "vkAllocateMemory returns VK_ERROR_OUT_OF_DEVICE_MEMORY (-2)");
  EXPECT_EQ(memory.native_domain, "VULKAN");
  EXPECT_EQ(memory.native_code, -2);
  EXPECT_EQ(gone.code, Code::lost);
  EXPECT_EQ(gone.reason, "DRIVER_CALL");
  EXPECT_EQ(gone.message,
            "vkQueueSubmit returns VK_ERROR_DEVICE_LOST (-4), the device does not respond or was "
            "reset; a new runtime can use it again");
}

}  // namespace
}  // namespace gantry::vulkan::test
