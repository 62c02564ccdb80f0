// SPDX-License-Identifier: Apache-2.0
#include "core/writing/module_edits.hpp"

#include "tests/support/files.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using Imports = std::vector<std::vector<std::size_t>>;

// graph -> _lib -> opencl, opencl -> dnnl
std::vector<ContainerModule> model() {
  return {{"graph", {1}, nullptr},
          {"", {2, 3}, nullptr},
          {"opencl", {4}, nullptr},
          {"opencl", {4}, nullptr},
          {"dnnl", {}, nullptr}};
}

std::vector<std::string> keys_of(const std::vector<EditedModule>& modules) {
  std::vector<std::string> keys;
  for (const EditedModule& edited : modules) keys.push_back(edited.module.type_key);
  return keys;
}

Imports imports_of(const std::vector<EditedModule>& modules) {
  Imports imports;
  for (const EditedModule& edited : modules) imports.push_back(edited.module.imports);
  return imports;
}

std::string payload_of(const EditedModule& edited) {
  Pieces out;
  EXPECT_TRUE(edited.module.write_payload(out).ok());
  const std::vector<std::uint8_t> bytes = test::bytes_of(out);
  return {bytes.begin(), bytes.end()};
}

class ModuleEditsTest : public ::testing::Test {
 protected:
  ModuleEditsTest() { test::write_file(temp_ / "new.bin", std::string_view("new")); }
  const test::TempDir temp_;
  const std::filesystem::path file_ = temp_ / "new.bin";
};

TEST_F(ModuleEditsTest, DropRemovesAModuleByIndex) {
  const auto edited = edit_modules(model(), {.drop = {"2"}, .replace = {}, .add = {}});

  ASSERT_TRUE(edited.ok()) << edited.error().message;
  EXPECT_THAT(keys_of(*edited), ElementsAre("graph", "", "opencl", "dnnl"));
  EXPECT_EQ(imports_of(*edited), (Imports{{1}, {2}, {3}, {}}));
  EXPECT_EQ((*edited)[2].entry, 3u);
}

TEST_F(ModuleEditsTest, DropRemovesAllModulesOfATypeKey) {
  const auto edited = edit_modules(model(), {.drop = {"opencl", "dnnl"}, .replace = {}, .add = {}});

  ASSERT_TRUE(edited.ok()) << edited.error().message;
  EXPECT_THAT(keys_of(*edited), ElementsAre("graph", ""));
  EXPECT_EQ(imports_of(*edited), (Imports{{1}, {}}));
}

TEST_F(ModuleEditsTest, DropKeepsModulesThatNothingImported) {
  std::vector<ContainerModule> modules = model();
  modules.push_back({"apart", {4}, nullptr});

  const auto edited =
      edit_modules(std::move(modules), {.drop = {"opencl", "dnnl"}, .replace = {}, .add = {}});

  ASSERT_TRUE(edited.ok()) << edited.error().message;
  EXPECT_THAT(keys_of(*edited), ElementsAre("graph", "", "apart"));
  EXPECT_EQ(imports_of(*edited), (Imports{{1}, {}, {}}));
}

TEST_F(ModuleEditsTest, ReplaceChangesThePayloadAndForgetsTheEntry) {
  const auto edited = edit_modules(model(), {.drop = {}, .replace = {{"dnnl", file_}}, .add = {}});

  ASSERT_TRUE(edited.ok()) << edited.error().message;
  EXPECT_EQ((*edited)[3].entry, 3u);
  EXPECT_EQ((*edited)[4].entry, std::nullopt);
  EXPECT_EQ(payload_of((*edited)[4]), "new");
}

TEST_F(ModuleEditsTest, AddAppendsAModuleThatTheCpuCodeImports) {
  const auto edited =
      edit_modules(model(), {.drop = {"2"}, .replace = {}, .add = {{"cuda", file_, ""}}});

  ASSERT_TRUE(edited.ok()) << edited.error().message;
  EXPECT_THAT(keys_of(*edited), ElementsAre("graph", "", "opencl", "dnnl", "cuda"));
  EXPECT_EQ(imports_of(*edited), (Imports{{1}, {2, 4}, {3}, {}, {}}));
  EXPECT_EQ(payload_of((*edited)[4]), "new");
}

TEST_F(ModuleEditsTest, AddTakesAParentByIndexOrKey) {
  const auto edited = edit_modules(
      model(), {.drop = {}, .replace = {}, .add = {{"a", file_, "3"}, {"b", file_, "_lib"}}});

  ASSERT_TRUE(edited.ok()) << edited.error().message;
  EXPECT_EQ(imports_of(*edited), (Imports{{1}, {2, 3, 6}, {4}, {4, 5}, {}, {}, {}}));
}

TEST_F(ModuleEditsTest, AddWithoutCpuCodeIsAnImportOfTheRoot) {
  const auto edited = edit_modules({{"graph", {}, nullptr}},
                                   {.drop = {}, .replace = {}, .add = {{"cuda", file_, ""}}});

  ASSERT_TRUE(edited.ok()) << edited.error().message;
  EXPECT_EQ(imports_of(*edited), (Imports{{1}, {}}));
}

struct RefusedEdit {
  std::string name;
  ModuleEdits edits;
  Code code;
  std::string message;
};

class ModuleEditsRefuse : public ModuleEditsTest,
                          public ::testing::WithParamInterface<RefusedEdit> {};

TEST_P(ModuleEditsRefuse, WithTheModules) {
  ModuleEdits edits = GetParam().edits;
  for (auto& edit : edits.replace) edit.payload = file_;
  for (auto& edit : edits.add) edit.payload = file_;

  const auto edited = edit_modules(model(), edits);

  ASSERT_FALSE(edited.ok());
  EXPECT_EQ(edited.error().code, GetParam().code);
  EXPECT_EQ(edited.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Each, ModuleEditsRefuse,
    ::testing::Values(
        RefusedEdit{"Root",
                    {.drop = {"graph"}, .replace = {}, .add = {}},
                    Code::invalid,
                    "module 0 \"graph\" is the root, which cannot be dropped"},
        RefusedEdit{"Lost",
                    {.drop = {"_lib", "2"}, .replace = {}, .add = {}},
                    Code::invalid,
                    "without the dropped modules, no module imports 3 \"opencl\", 4 \"dnnl\"; drop "
                    "them as well (--drop 3 --drop 4)"},
        RefusedEdit{"LostOne",
                    {.drop = {"opencl"}, .replace = {}, .add = {}},
                    Code::invalid,
                    "without the dropped modules, no module imports 4 \"dnnl\"; drop it as well "
                    "(--drop 4)"},
        RefusedEdit{"Unknown",
                    {.drop = {"opencll"}, .replace = {}, .add = {}},
                    Code::not_found,
                    "module \"opencll\" not found, did you mean \"opencl\"; "
                    "modules: 0 \"graph\", 1 \"_lib\", 2 \"opencl\", 3 \"opencl\", 4 \"dnnl\""},
        RefusedEdit{"IndexOutOfRange",
                    {.drop = {"5"}, .replace = {}, .add = {}},
                    Code::not_found,
                    "module \"5\" not found; modules: 0 \"graph\", 1 "
                    "\"_lib\", 2 \"opencl\", 3 \"opencl\", 4 \"dnnl\""},
        RefusedEdit{"AmbiguousReplacement",
                    {.drop = {}, .replace = {{"opencl", ""}}, .add = {}},
                    Code::invalid,
                    "type key \"opencl\" selects 2 modules: 2, 3; name one by its index"},
        RefusedEdit{"CpuCodeReplaced",
                    {.drop = {}, .replace = {{"_lib", ""}}, .add = {}},
                    Code::invalid,
                    "module 1 \"_lib\" is CPU code, which has no payload to replace"},
        RefusedEdit{"DroppedAndReplaced",
                    {.drop = {"4"}, .replace = {{"4", ""}}, .add = {}},
                    Code::invalid,
                    "module 4 \"dnnl\" is dropped and replaced"},
        RefusedEdit{"ReplacedTwice",
                    {.drop = {}, .replace = {{"4", ""}, {"dnnl", ""}}, .add = {}},
                    Code::invalid,
                    "module 4 \"dnnl\" is replaced twice"},
        RefusedEdit{"DroppedParent",
                    {.drop = {"4"}, .replace = {}, .add = {{"cuda", "", "4"}}},
                    Code::invalid,
                    "module 4 \"dnnl\" is dropped and cannot import \"cuda\""}),
    [](const auto& test) { return test.param.name; });

TEST_F(ModuleEditsTest, RefusesAFileThatDoesNotExist) {
  const auto edited =
      edit_modules(model(), {.drop = {}, .replace = {{"dnnl", temp_ / "absent"}}, .add = {}});

  ASSERT_FALSE(edited.ok());
  EXPECT_EQ(edited.error().code, Code::not_found);
}

TEST(ModuleEditsText, IsDivided) {
  const auto replacement = parse_replacement("2=a=b.bin");
  const auto addition = parse_addition("cuda=a@b.bin@1");
  const auto plain = parse_addition("cuda=a.bin");

  EXPECT_EQ(replacement->module, "2");
  EXPECT_EQ(replacement->payload, "a=b.bin");
  EXPECT_EQ(addition->type_key, "cuda");
  EXPECT_EQ(addition->payload, "a@b.bin");
  EXPECT_EQ(addition->parent, "1");
  EXPECT_EQ(plain->payload, "a.bin");
  EXPECT_EQ(plain->parent, "");
}

TEST(ModuleEditsText, HasNoParentInTheNameOfADirectory) {
  const auto plain = parse_addition("cuda=/opt/cuda@12/a.bin");
  const auto with_parent = parse_addition("cuda=@12/a.bin@_lib");

  EXPECT_EQ(plain->payload, "/opt/cuda@12/a.bin");
  EXPECT_EQ(plain->parent, "");
  EXPECT_EQ(with_parent->payload, "@12/a.bin");
  EXPECT_EQ(with_parent->parent, "_lib");
}

TEST(ModuleEditsText, OfAnotherFormIsRefused) {
  for (const char* text : {"cuda", "=a", "cuda="}) {
    EXPECT_EQ(parse_replacement(text).error().message,
              concat("\"", text, "\" is not INDEX=FILE or KEY=FILE"));
  }
  for (const char* text : {"cuda", "=a", "cuda=", "cuda=@1", "cuda=a@"}) {
    EXPECT_EQ(parse_addition(text).error().message,
              concat("\"", text, "\" is not KEY=FILE or KEY=FILE@PARENT"));
  }
}

}  // namespace
}  // namespace gantry
