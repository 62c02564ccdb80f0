// SPDX-License-Identifier: Apache-2.0
//
// The runtime with a plugin that is part of the test: loading and late binding.
#include "tests/unit/runtime/plugin_in_use.hpp"

#include "core/engine/module/module.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry {
namespace {

using test::make_runtime;
using test::PluginInUse;
using test::program_plugin;
using test::query_program_plugin;
using test::Words;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST_F(PluginInUse, ChangesNoStateOfTheProcessWhenItIsCreated) {
  const std::filesystem::path here = std::filesystem::current_path();
  program_plugin().creating = [] { std::filesystem::current_path("/"); };
  std::vector<std::string> lines;
  RuntimeOptions options;
  options.log_sink = [&](std::int32_t, std::string_view line) { lines.emplace_back(line); };
  Runtime runtime = with_plugin(std::move(options));

  EXPECT_TRUE(runtime.load(file_of({{"test.block", "x"}})).ok());

  EXPECT_EQ(std::filesystem::current_path(), here);
  EXPECT_THAT(lines, Contains(HasSubstr("plugin test.program changes the working directory while "
                                        "it is created; gantry has restored it")));
}

// Only the loader can determine where a payload without a declared layout ends.
TEST_F(PluginInUse, ReportsWherePayloadsOfAnUndeclaredLayoutEnd) {
  Runtime runtime = with_plugin();

  const auto root = runtime.load(
      file_of({{"test.block", "one"}, {"test.block", "two"}, {"test.block", "three"}}));

  ASSERT_TRUE(root.ok()) << root.error().message;
  const std::vector<Module> imports = root->imports().value();
  ASSERT_EQ(imports.size(), 2u);
  EXPECT_EQ(imports[0].function("text").value()()->text().value(), "two");
  EXPECT_EQ(imports[1].function("text").value()()->text().value(), "three");
  EXPECT_EQ(program_plugin().loads, 3);
  EXPECT_FALSE(program_plugin().last_was_exact);
}

// Without a tree, the library is module 0 and imports the payloads.
TEST_F(PluginInUse, KnowsTheModuleThatItMeasuresWithoutATree) {
  Runtime runtime = with_plugin();
  program_plugin().lie = 1000;
  const Words content = Words().u64(1).str("test.block").str("x");

  const auto module = runtime.load(file_with(content));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().reason, "BLOB_CONSUMED");
  EXPECT_THAT(module.error().message, HasSubstr("while loading entry 1 \"test.block\""));
}

// The tree is then not at the end, so until it is read modules are numbered as in a container
// without a tree.
TEST_F(PluginInUse, ReportsItsModuleIfBytesFollowTheTree) {
  Runtime runtime = with_plugin();
  Words content = Words().u64(2).str("test.block").str("x");
  content.str("_import_tree").u64s({0, 0}).u64s({}).text("behind");

  const auto module = runtime.load(file_with(content));

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_THAT(location_of(*reinterpret_cast<ModuleNode*>(module->get())),
              testing::StartsWith("entry 0 \"test.block\""));
}

TEST_F(PluginInUse, ThatConsumesTooFewBytesIsDetectedAtTheNextEntry) {
  Runtime runtime = with_plugin();
  program_plugin().lie = static_cast<std::uint64_t>(-3);

  const auto module = runtime.load(file_of({{"test.block", "text"}, {"test.block", "x"}}));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::malformed);
  EXPECT_THAT(module.error().message,
              AllOf(HasSubstr("type key of entry 1"), HasSubstr("in the container at symbol")));
  EXPECT_EQ(program_plugin().modules, 0);
}

// Each is loaded once, while the container is read.
TEST_F(PluginInUse, MeasuresAThousandPayloadsOfOneFile) {
  Runtime runtime = with_plugin();
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 1000; ++i) many.emplace_back("test.block", concat("text ", i));

  const auto root = runtime.load(file_of(many));

  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(program_plugin().loads, 1000);
  EXPECT_EQ(program_plugin().modules, 1000);
  const std::vector<Module> imports = root->imports().value();
  ASSERT_EQ(imports.size(), 999u);
  for (std::size_t i = 0; i < imports.size(); ++i) {
    ASSERT_EQ(imports[i].function("text").value()()->text().value(), concat("text ", i + 1));
  }
}

TEST_F(PluginInUse, ThatReportsAWrongSizeIsNamed) {
  Runtime runtime = with_plugin();
  program_plugin().lie = 1000;

  const auto module = runtime.load(file_of({{"test.block", "x"}}));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::bug);
  EXPECT_EQ(module.error().reason, "BLOB_CONSUMED");
  EXPECT_THAT(module.error().message,
              AllOf(HasSubstr("load_binary of plugin test.program reports that it "
                              "has consumed 1009 bytes of a payload of "),
                    HasSubstr("while loading entry 0 \"test.block\"")));
  EXPECT_EQ(program_plugin().modules, 0) << "the module it made is destroyed";
}

TEST_F(PluginInUse, ThatSucceedsWithoutAModuleIsNamed) {
  Runtime runtime = with_plugin();
  program_plugin().no_module = true;

  const auto module = runtime.load(file_of({{"test.block", "x"}}));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().reason, "MODULE_MISSING");
  EXPECT_THAT(module.error().message,
              HasSubstr("load_binary of plugin test.program returns success without a module"));
}

TEST_F(PluginInUse, ThatFailsWithoutATextIsNamed) {
  Runtime runtime = with_plugin();

  const auto module = runtime.load(file_of({{"test.broken", "x"}}));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::unavailable);
  EXPECT_THAT(
      module.error().message,
      HasSubstr("load_binary of plugin test.program fails as unavailable without a reason"));
}

TEST_F(PluginInUse, BindsModulesThatWereMissingDuringLoad) {
  Runtime runtime = make_runtime();
  const Module model =
      runtime.load(file_of({{"test.block", "root"}}), {.allow_missing = true}).value();
  EXPECT_EQ(model.missing().value().size(), 1u);
  EXPECT_EQ(model.bind_missing().error().reason, "NO_PLUGIN");

  ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());
  const Status bound = model.bind_missing();

  ASSERT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_TRUE(model.missing().value().empty());
  EXPECT_EQ(model.function("text").value()()->text().value(), "root");
}

TEST_F(PluginInUse, WhoseFactoryFailsIsNamedWithIt) {
  Runtime runtime = with_plugin();
  program_plugin().call = [](const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
                             gantry_status* status) -> gantry_code {
    return gantry_fail(status, GANTRY_UNAVAILABLE, "BUSY", "the unit is busy");
  };
  const Module module = runtime.load(file_of({{"test.block", "x"}})).value();

  const auto executor = Executor::create(runtime, module, {"cpu"}, "call");

  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().reason, "BUSY");
  EXPECT_THAT(executor.error().message, HasSubstr("while making an executor with \"call\""));
}

TEST_F(PluginInUse, IsNoExecutorWithoutItsFunctions) {
  Runtime runtime = with_plugin();

  const auto none = Executor::wrap(Module());
  const auto block = Executor::wrap(runtime.load(file_of({{"test.block", "x"}})).value());

  EXPECT_EQ(none.error().message, "module handle is empty, expected an executor");
  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code, Code::not_found);
  EXPECT_THAT(block.error().message,
              AllOf(HasSubstr("set_input"),
                    HasSubstr("while looking for an executor's functions in test.block")));
}

TEST_F(PluginInUse, BindsMissingModulesWhenTheFileIsLoadedAgain) {
  Runtime runtime = make_runtime();
  const std::string file = file_of({{"test.block", "root"}});
  const Module partial = runtime.load(file, {.allow_missing = true}).value();
  ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());

  const auto whole = runtime.load(file);

  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->get(), partial.get());
  EXPECT_TRUE(partial.missing().value().empty());
}

// `required: true` in a manifest makes the creation of a runtime fail with the plugin's error.
TEST(Runtime, DoesNotStartWithoutARequiredPlugin) {
  const test::TempDir dir;
  test::write_file(
      dir / "acme.yaml",
      "schema: \"1.0\"\nid: acme.npu\nversion: \"1.0.0\"\nlibrary: libabsent.so\n"
      "abi: {major: 1, min_minor: 0, max_minor: 0}\nkeys: [{key: acme.npu}]\nrequired: true\n");
  RuntimeOptions options;
  options.plugin_paths = {dir.path().string()};

  const auto runtime = Runtime::create(options);

  ASSERT_FALSE(runtime.ok());
  EXPECT_EQ(runtime.error().code, Code::unavailable);
  EXPECT_THAT(runtime.error().message,
              AllOf(HasSubstr("acme.npu"), HasSubstr("required"), HasSubstr("libabsent.so")));
}

TEST_F(PluginInUse, HoldsTensorsThatOutliveTheRuntime) {
  Tensor there;
  Tensor back;
  {
    Runtime runtime = with_plugin();
    const std::int64_t shape[] = {4};
    const Tensor from = runtime.tensor({4}, {0, 32, 1}).value();
    back = runtime.tensor({4}, {0, 32, 1}).value();
    for (int i = 0; i < 4; ++i) from.elements<int>()[static_cast<std::size_t>(i)] = i * i;
    there = runtime.tensor(shape, {0, 32, 1}, "test_npu").value();
    ASSERT_TRUE(runtime.copy(from, there).ok());
    ASSERT_TRUE(runtime.copy(there, back).ok());
  }
  EXPECT_EQ(there.data(), nullptr) << "the CPU cannot read it";
  EXPECT_THAT(back.elements<int>(), testing::ElementsAre(0, 1, 4, 9));
  EXPECT_EQ(program_plugin().instances, 1);

  there = {};
  back = {};

  EXPECT_EQ(program_plugin().instances, 0);
}

}  // namespace
}  // namespace gantry
