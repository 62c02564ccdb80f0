// SPDX-License-Identifier: Apache-2.0
//
// What a plugin receives with a payload, and the module that it creates from it.
#include "tests/unit/runtime/plugin_in_use.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/engine/native/device_numbers.hpp"
#include "core/engine/runtime/artifact_file.hpp"
#include "core/engine/runtime/payload_check.hpp"
#include "core/engine/runtime/state.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::program_plugin;
using test::query_program_plugin;
using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

ModuleNode& node_of(const Module& module) { return *reinterpret_cast<ModuleNode*>(module.get()); }

class PayloadOfAPlugin : public test::PluginInUse {
 protected:
  // A plugin directory whose only manifest declares the keys of the program's plugin.
  //
  // keys     [in]   the manifest's list, as written
  RuntimeOptions declared(std::string_view keys) const {
    test::ManifestBuilder()
        .id("test.declared")
        .set("keys", keys)
        .write_to(directory_ / "declared.yaml");
    RuntimeOptions options;
    options.plugin_paths = {directory_.path().string()};
    options.only_these_plugins = true;
    // not the warning that the declared plugin has no library
    options.log_level = "error";
    return options;
  }
  // A file of the newest exporter with one module.
  std::string new_file(std::string_view key) const {
    const Words body = Words().u64s({0, 0}).u64s({}).str(key).u64(12).str("text");
    const Words container = Words().u64(body.size()).bytes(body.bytes());
    const auto path = directory_ / "new.so";
    test::write_file(
        path, test::ElfBuilder().object("__tvm_ffi__library_bin", container.bytes()).build());
    return path.string();
  }
  // Module 0 imports the other two, of which the last runs on the plugin's device.
  std::string host_and_device_modules() {
    return file_of({{"test.block", "a"}, {"test.block", "b"}, {"test.unit", "c"}});
  }
  static std::vector<std::uint64_t> ext_devs_of(const Module& root) {
    std::vector<std::uint64_t> all{node_of(root).ext_devs};
    const std::vector<Module> imports = root.imports().value();
    for (const Module& import : imports) all.push_back(node_of(import).ext_devs);
    return all;
  }

 private:
  test::TempDir directory_;
};

TEST_F(PayloadOfAPlugin, IsDescribedByItsKeyItsLocationAndItsExporter) {
  Runtime runtime = with_plugin();

  const auto module = runtime.load(file_of({{"test.unit", "a"}, {"test.block", "b"}}));

  ASSERT_TRUE(module.ok()) << module.error().message;
  const test::ProgramPlugin& plugin = program_plugin();
  EXPECT_EQ(plugin.last.struct_size, sizeof(gantry_blob));
  EXPECT_EQ(plugin.last_key, "test.block");
  EXPECT_EQ(plugin.last_origin, "entry 1 \"test.block\" of file1.so");
  EXPECT_EQ(plugin.last.argument_tags, std::uint32_t{GANTRY_ARGUMENT_TAGS_NO});
  EXPECT_EQ(plugin.last.numbering, std::uint32_t{GANTRY_NUMBERING_PACKED});
}

TEST_F(PayloadOfAPlugin, OfANewExporterHasItsFacts) {
  Runtime runtime = with_plugin();

  const auto module = runtime.load(new_file("test.block"));

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_TRUE(program_plugin().last_was_exact);
  EXPECT_EQ(program_plugin().last.argument_tags, std::uint32_t{GANTRY_ARGUMENT_TAGS_YES});
  EXPECT_EQ(program_plugin().last.numbering, std::uint32_t{GANTRY_NUMBERING_FFI});
}

TEST_F(PayloadOfAPlugin, IsDelimitedWhereItsLayoutEndsIt) {
  Runtime runtime = with_plugin(declared("[{key: test.block, payload: [bytes]}]"));
  for (const std::int64_t difference : {-1, 1}) {
    program_plugin().lie = static_cast<std::uint64_t>(difference);

    const auto module = runtime.load(file_of({{"test.block", "text"}}));

    ASSERT_FALSE(module.ok());
    EXPECT_EQ(module.error().reason, "BLOB_CONSUMED");
    EXPECT_THAT(module.error().message,
                HasSubstr(concat("has consumed ", 12 + difference, " bytes of a payload of 12")));
  }
}

TEST_F(PayloadOfAPlugin, MayExtendToTheEndOfTheContainer) {
  Runtime runtime = with_plugin();
  const Words without_a_tree = Words().u64(1).str("test.block").str("last");

  const auto module = runtime.load(file_with(without_a_tree));

  EXPECT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(program_plugin().last.size, 12u);
}

TEST_F(PayloadOfAPlugin, CreatesAModuleOfTheLoadersDevice) {
  Runtime runtime = with_plugin();

  const Module module = runtime.load(file_of({{"test.unit", "x"}})).value();

  EXPECT_EQ(node_of(module).device_type, runtime.device("test_npu")->type);
}

// Modules that the plugin's device cannot be reached from keep their number 12.
TEST_F(PayloadOfAPlugin, AddsItsDeviceToTheModulesThatReachIt) {
  Runtime runtime = with_plugin();

  const Module root = runtime.load(host_and_device_modules()).value();

  const std::uint64_t npu = ext_dev_bit(runtime.device("test_npu")->type);
  EXPECT_THAT(ext_devs_of(root), ElementsAre(npu, 0, npu));
}

// Its code looks functions up from the root. A child that precedes its parent is a mark of such
// files.
TEST_F(PayloadOfAPlugin, OfAnOldExporterAddsItsDeviceToTheLibrary) {
  Runtime runtime = with_plugin();
  Words content = Words().u64(5).str("test.block").str("root").str("_lib");
  content.str("test.block").str("parent").str("test.unit").str("device");
  content.str("_import_tree").u64s({0, 2, 2, 3, 3}).u64s({2, 3, 1});

  const Module root = runtime.load(file_with(content)).value();

  const std::uint64_t npu = ext_dev_bit(runtime.device("test_npu")->type);
  const Module library = root.imports().value().front().imports().value().front();
  EXPECT_EQ(library.type_key().value(), "_lib");
  EXPECT_EQ(node_of(library).ext_devs, npu);
}

TEST_F(PayloadOfAPlugin, AddsItsDeviceWhenItIsBoundLater) {
  Runtime runtime =
      test::make_runtime(declared("[{key: test.block, payload: [bytes]}, "
                                  "{key: test.unit, payload: [bytes]}]"));
  const Module root = runtime.load(host_and_device_modules(), {.allow_missing = true}).value();
  EXPECT_THAT(ext_devs_of(root), ElementsAre(0, 0, 0));

  ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());
  ASSERT_TRUE(root.bind_missing().ok());

  const std::uint64_t npu = ext_dev_bit(runtime.device("test_npu")->type);
  EXPECT_THAT(ext_devs_of(root), ElementsAre(npu, 0, npu));
}

// Their numbers in artifacts are not those of the runtime (core/engine/native/device_numbers.hpp).
TEST_F(PayloadOfAPlugin, OfARenumberedDeviceHasItsNumbersTranslated) {
  test::World world;
  world.add("fake", "renumbered_device", test::ManifestBuilder().key("aocl").device("aocl"));
  RuntimeOptions options;
  options.plugin_paths = {world.path().string()};
  options.only_these_plugins = true;
  Runtime runtime = test::make_runtime(std::move(options));

  const auto module = runtime.load(new_file("aocl"));

  ASSERT_TRUE(module.ok()) << module.error().message;
  const std::int32_t aocl = runtime.device("aocl")->type;
  EXPECT_THAT(node_of(*module).artifact->device_numbers,
              ElementsAre(Pair(32, aocl), Pair(5, aocl)));
}

// 12 is the number of either device in the library's code.
TEST_F(PayloadOfAPlugin, OfASecondDeviceIsRefusedForOneLibrary) {
  test::World world;
  world.add("fake", "unusable",
            test::fake_manifest().set("keys", "[{key: fake, payload: [bytes]}]"));
  RuntimeOptions options;
  options.plugin_paths = {world.path().string()};
  options.only_these_plugins = true;
  Runtime runtime = with_plugin(std::move(options));

  const auto no_library =
      runtime.load(file_of({{"test.block", "r"}, {"test.unit", "a"}, {"fake", "b"}}));
  const auto one = runtime.load(file_of({{"_lib", ""}, {"test.unit", "a"}}));
  const auto two = runtime.load(file_of({{"_lib", ""}, {"test.unit", "a"}, {"fake", "b"}}));

  EXPECT_TRUE(no_library.ok());
  EXPECT_TRUE(one.ok());
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().reason, "EXT_DEV");
}

// Loaders with the parallel flag may create two modules for one node, of which one is destroyed.
TEST_F(PayloadOfAPlugin, MayBeBoundByAnotherThreadMeanwhile) {
  Runtime runtime = test::make_runtime(declared("[{key: test.unit, payload: [bytes]}]"));
  const Module model = runtime.load(file_of({{"test.unit", "x"}}), {.allow_missing = true}).value();
  ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());
  program_plugin().loading = [&] {
    program_plugin().loading = {};
    EXPECT_TRUE(model.bind_missing().ok());
  };

  const Status bound = model.bind_missing();

  EXPECT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_EQ(program_plugin().loads, 2);
  EXPECT_EQ(program_plugin().modules, 1);
}

class VerdictOfAPlugin : public PayloadOfAPlugin {
 protected:
  Result<std::int32_t> verdict(std::int32_t given) {
    Runtime runtime = with_plugin();
    program_plugin().verdict = given;
    RuntimeState& state = *state_of(runtime.get());
    const auto artifact = read_artifact(state, file_of({{"test.block", "x"}})).value();
    return check_payload(state, *artifact, 0).front().verdict;
  }
};

TEST_F(VerdictOfAPlugin, IsReturnedFromTheWorstToTheBest) {
  for (const std::int32_t each : {GANTRY_VERDICT_NO, GANTRY_VERDICT_RECOMPILE,
                                  GANTRY_VERDICT_USABLE, GANTRY_VERDICT_OPTIMAL}) {
    EXPECT_EQ(verdict(each).value(), each);
  }
}

TEST_F(VerdictOfAPlugin, IsRequestedForEachDevice) {
  const Runtime runtime = with_plugin();
  RuntimeState& state = *state_of(runtime.get());
  const auto artifact = read_artifact(state, file_of({{"test.unit", "x"}})).value();

  const std::vector<PayloadCheck> checks = check_payload(state, *artifact, 0);

  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[0].device, "test_npu:0");
  EXPECT_EQ(checks[1].device, "test_npu:1");
}

TEST_F(VerdictOfAPlugin, IsRefusedOutsideItsRange) {
  for (const std::int32_t each : {-1, 4}) {
    const auto refused = verdict(each);

    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().reason, "VERDICT");
    EXPECT_THAT(refused.error().message, HasSubstr(concat("returns verdict ", each, ", expected")));
  }
}

}  // namespace
}  // namespace gantry
