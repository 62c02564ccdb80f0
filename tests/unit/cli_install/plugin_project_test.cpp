// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/install/plugin_project.hpp"

#include "tests/support/files.hpp"

#include <gmock/gmock.h>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using ::testing::ElementsAre;

TEST(ProjectNames, AreMadeFromTheId) {
  const ProjectNames names = ProjectNames::of("acme.fast-npu").value();

  EXPECT_EQ(names.vendor, "acme");
  EXPECT_EQ(names.name, "fast_npu");
}

TEST(ProjectNames, RefuseIdsThatCannotBeUsed) {
  const auto text_of = [](std::string_view id) {
    const auto names = ProjectNames::of(id);
    return names.ok() ? "accepted" : std::string(names.error().message.text());
  };

  EXPECT_EQ(text_of("Acme"),
            "plugin id is \"Acme\", expected vendor.name in lower-case letters, digits, '.' and "
            "'-', at most 64 bytes");
  EXPECT_EQ(text_of("gantry.npu"),
            "plugin id is \"gantry.npu\", but gantry. is reserved for this project");
  EXPECT_EQ(text_of("acme.3x"),
            "plugin id is \"acme.3x\", expected a letter after the last dot: \"3x\" becomes a "
            "name in C");
}

TEST(ProjectNames, ReplaceThoseOfTheTemplate) {
  const ProjectNames names = ProjectNames::of("acme.npu").value();

  EXPECT_EQ(with_names("key example.null of null_backend (null backend, Example)", names),
            "key acme.npu of npu_backend (npu backend, acme)");
  EXPECT_EQ(with_names("gantry_add_plugin(null SOURCES null_backend.c) null.yaml.in", names),
            "gantry_add_plugin(npu SOURCES npu_backend.c) npu.yaml.in");
  EXPECT_EQ(
      with_names("name = \"gantry-plugin-example.null\", components = [\"wheel-null\"]", names),
      "name = \"gantry-plugin-acme.npu\", components = [\"wheel-npu\"]");
  EXPECT_EQ(with_names("return NULL; nullptr; std::nullopt", names),
            "return NULL; nullptr; std::nullopt");
}

TEST(PluginProject, CopiesTheTemplateWithTheNames) {
  const TempDir dir;
  fs::create_directories(dir / "template/tests");
  test::write_file(dir / "template/null_backend.c", std::string_view("null_module"));
  test::write_file(dir / "template/tests/a", std::string_view("example.null"));

  const auto files =
      write_project(dir / "template", ProjectNames::of("acme.npu").value(), dir / "npu");

  ASSERT_TRUE(files.ok()) << files.error().message.text();
  EXPECT_THAT(*files, ElementsAre("npu_backend.c", "tests/a"));
  const auto bytes = test::read_file(dir / "npu/npu_backend.c");
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "npu_module");
}

TEST(PluginProject, ReplacesNoDirectory) {
  const TempDir dir;
  fs::create_directories(dir / "template");
  test::write_file(dir / "template/a", std::string_view("x"));
  fs::create_directories(dir / "npu");

  const auto files =
      write_project(dir / "template", ProjectNames::of("acme.npu").value(), dir / "npu");

  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().message.text(), concat("\"", (dir / "npu").native(), "\" exists"));
  EXPECT_TRUE(fs::is_empty(dir / "npu"));
}

}  // namespace
}  // namespace gantry::cli
