// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/missing.hpp"

#include "tests/support/files.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

namespace gantry::vulkan::test {
namespace {

using gantry::test::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;

class NoVulkanDriver : public ::testing::Test {
 protected:
  ~NoVulkanDriver() override {
    ::unsetenv("VK_DRIVER_FILES");
    ::unsetenv("VK_ADD_DRIVER_FILES");
  }
  std::string write(const std::string& name, const std::string& text) {
    gantry::test::write_file(temp_ / name, text);
    return (temp_ / name).string();
  }

  TempDir temp_;
};

TEST_F(NoVulkanDriver, NamesTheVariableItsValueAndTheMissingLibrary) {
  const std::string vendor =
      write("vendor.json", R"({"ICD": {"library_path": "/opt/vendor/libvk.so"}})");
  const std::string absent = (temp_ / "absent.json").string();
  ::setenv("VK_DRIVER_FILES", (vendor + ":" + absent).c_str(), 1);

  const Error error = no_driver();

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "DRIVER_MISSING");
  EXPECT_EQ(error.message, "no Vulkan driver starts; VK_DRIVER_FILES is \"" + vendor + ":" +
                               absent + "\", which replaces the default directories; \"" + vendor +
                               "\" names \"/opt/vendor/libvk.so\", which does not exist; \"" +
                               absent + "\" does not exist");
}

TEST_F(NoVulkanDriver, ReadsTheManifestsOfADirectory) {
  write("a.json", R"({"ICD": {"library_path": "libgantry_absent_driver.so"}})");
  write("b.json", R"({"ICD": {"library_path": "./beside.so"}})");
  write("c.json", "{");
  write("d.json", R"({"ICD": {}})");
  write("e.txt", "");
  ::setenv("VK_DRIVER_FILES", temp_.path().c_str(), 1);

  const std::string text = no_driver().message.text();

  EXPECT_THAT(text,
              HasSubstr("a.json\" names \"libgantry_absent_driver.so\", which cannot be opened: "
                        "libgantry_absent_driver.so: cannot open shared object file"));
  EXPECT_THAT(text,
              HasSubstr(" names \"" + (temp_ / "beside.so").string() + "\", which does not exist"));
  EXPECT_THAT(text, HasSubstr("c.json\": manifest is not JSON"));
  EXPECT_THAT(text, HasSubstr("d.json\" has no ICD.library_path"));
  EXPECT_THAT(text, Not(HasSubstr("e.txt")));
}

TEST_F(NoVulkanDriver, ListsTheDefaultDirectoriesAndAddedManifests) {
  EXPECT_THAT(no_driver().message.text(),
              HasSubstr("no Vulkan driver starts; the loader looks for the manifests of drivers in "
                        "/etc/vulkan/icd.d ("));
  ::setenv("VK_ADD_DRIVER_FILES", "/nowhere/driver.json", 1);

  const std::string text = no_driver().message.text();

  EXPECT_THAT(text, HasSubstr("/usr/share/vulkan/icd.d ("));
  EXPECT_THAT(text, HasSubstr("; VK_ADD_DRIVER_FILES is \"/nowhere/driver.json\""));
  EXPECT_THAT(text, HasSubstr("\"/nowhere/driver.json\" does not exist"));
}

}  // namespace
}  // namespace gantry::vulkan::test
