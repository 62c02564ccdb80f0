// SPDX-License-Identifier: Apache-2.0
//
// The error that lists all type keys without a usable plugin. No plugin's code runs before it.
#include "tests/support/elf_builder.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/library/world.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/program_plugin.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::ManifestBuilder;
using test::program_plugin;
using test::Words;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class MissingPlugins : public testing::Test {
 protected:
  MissingPlugins() {
    program_plugin() = {};
    std::filesystem::create_directory(dir_ / "plugins.d");
  }

  Runtime runtime(std::string config = "") const {
    RuntimeOptions options;
    options.plugin_paths = {(dir_ / "plugins.d").string()};
    options.only_these_plugins = true;
    if (!config.empty()) {
      options.config_file = (dir_ / "runtime.yaml").string();
      test::write_file(options.config_file, config);
    }
    Runtime made = test::make_runtime(std::move(options));
    const Status added = made.add_plugin(test::query_program_plugin);
    EXPECT_TRUE(added.ok()) << added.error().message;
    return made;
  }

  std::filesystem::path add_manifest(std::string_view name, const ManifestBuilder& manifest) const {
    return manifest.write_to(dir_ / "plugins.d" / concat(name, ".yaml"));
  }

  // A file without CPU code: these keys, each with a text as payload.
  std::string file(const std::vector<std::string_view>& keys) const {
    Words entries;
    for (const std::string_view key : keys) entries.str(key).str("x");
    const std::vector<std::uint64_t> rows(keys.size() + 1, 0);
    const Words container = test::layout_one(keys.size(), entries, rows, {});
    const auto path = dir_ / "model.so";
    test::write_file(path, test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return path.string();
  }

  static ManifestBuilder npu() {
    return ManifestBuilder().id("acme.npu").set("keys", "[{key: acme.npu, payload: [bytes]}]");
  }
  // A plugin for the type key "fake" whose library depends on one that does not exist.
  //
  // keys     [in]   the manifest's list, as written
  void add_plugin_without_its_dependency(std::string_view keys) const {
    const auto directory = dir_ / "plugins.d/fake";
    ManifestBuilder().set("keys", keys).write_to(directory / "fake.yaml");
    std::filesystem::copy_file(test::fake_library("missing_dependency"), directory / "libfake.so");
  }
  // delimits the payloads of the program's plugin
  static ManifestBuilder block() {
    return ManifestBuilder()
        .id("test.declared")
        .set("keys", "[{key: test.block, payload: [bytes]}]");
  }

  test::TempDir dir_;
};

TEST_F(MissingPlugins, AreReportedTogetherWhetherOfferedOrNot) {
  add_manifest("acme", npu());
  add_manifest("foo", ManifestBuilder()
                          .id("foo.off")
                          .line("enabled: false")
                          .set("keys", "[{key: foo.bar, payload: [bytes]}]"));
  add_manifest("block", block());
  Runtime made = runtime();

  const auto model = made.load(file({"test.block", "acme.npu", "foo.bar"}));

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::unavailable);
  EXPECT_EQ(model.error().reason, "NO_PLUGIN");
  EXPECT_THAT(
      model.error().message,
      AllOf(StartsWith("model.so needs 2 things: \"acme.npu\", \"foo.bar\", served by no plugin\n"
                       "  \"acme.npu\", required by entry 1 \"acme.npu\" of model.so\n"
                       "    acme.npu 1.0.0 is refused, GANTRY-D305 LIBRARY_MISSING: "),
            HasSubstr("\n  \"foo.bar\", required by entry 2 \"foo.bar\" of model.so\n"
                      "    foo.off 1.0.0 is skipped, GANTRY-D411 DISABLED: "),
            HasSubstr("\n    plugin foo.off 1.0.0 is installed: enable it\n"),
            HasSubstr("\n  type keys that are served: test.block, test.broken, test.unit\n"),
            Not(HasSubstr("near name")), Not(HasSubstr("while loading")),
            Not(HasSubstr("its CPU code"))));
  EXPECT_EQ(program_plugin().host, nullptr) << "a plugin was created for a file that cannot load";
}

// The plugins of all keys are inspected before one is opened, whatever their order.
TEST_F(MissingPlugins, AreReportedBeforeAPluginOfALaterKeyIsCreated) {
  add_manifest("acme", npu());
  add_manifest("block", block());
  Runtime made = runtime();

  const auto model = made.load(file({"acme.npu", "test.block"}));

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(program_plugin().host, nullptr) << "a plugin was created for a file that cannot load";
}

// Dependencies are searched before a plugin is opened only because the load has failed.
TEST_F(MissingPlugins, AreReportedTogetherWithPluginsThatLackALibrary) {
  add_plugin_without_its_dependency("[{key: fake, payload: [bytes]}]");
  add_manifest("acme", npu());
  add_manifest("block", block());
  Runtime made = runtime();

  const auto model = made.load(file({"test.block", "fake", "acme.npu"}));

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().reason, "NO_PLUGIN");
  EXPECT_THAT(
      model.error().message,
      AllOf(StartsWith("model.so needs 2 things: \"fake\", \"acme.npu\", served by no plugin\n"
                       "  \"fake\", required by entry 1 \"fake\" of model.so\n"
                       "    test.fake 1.0.0 is refused, GANTRY-D330 LIB_NEEDED_MISSING: "
                       "libfake_dependency.so.4 is not found, needed by libfake.so; searched "),
            HasSubstr("    acme.npu 1.0.0 is refused, GANTRY-D305 LIBRARY_MISSING: ")));
  EXPECT_EQ(program_plugin().host, nullptr) << "a plugin was created for a file that cannot load";
}

// The library is opened to determine the payload's length, which fails with the same error.
TEST_F(MissingPlugins, ThatLackALibraryAreReportedForAPayloadWithoutALayout) {
  add_plugin_without_its_dependency("[{key: fake}]");
  Runtime made = runtime();

  const auto model = made.load(file({"fake"}));
  const auto partial = made.load(file({"fake"}), {.allow_missing = true});

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().reason, "NO_PLUGIN");
  EXPECT_THAT(model.error().message,
              AllOf(StartsWith("model.so needs \"fake\", served by no plugin\n"),
                    HasSubstr("GANTRY-D330 LIB_NEEDED_MISSING: libfake_dependency.so.4 is not "
                              "found, needed by libfake.so; searched ")));
  ASSERT_TRUE(partial.ok()) << partial.error().message;
  EXPECT_EQ(partial->missing().value().size(), 1u);
}

// One sentence for each candidate, since every failed look-up repeats it.
TEST_F(MissingPlugins, AreStoredWithTheReasonOfEachCandidate) {
  add_manifest("acme", npu());
  add_manifest("foo", ManifestBuilder()
                          .id("foo.off")
                          .line("enabled: false")
                          .set("keys",
                               "[{key: acme.npu, payload: [bytes]}, "
                               "{key: foo.bar, payload: [bytes]}]"));
  Runtime made = runtime();
  const std::string library = (dir_ / "plugins.d/libfake.so").string();

  const auto model = made.load(file({"acme.npu", "foo.bar"}), {.allow_missing = true});

  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_THAT(model->missing().value().front(),
              testing::AllOf(HasSubstr(concat("acme.npu 1.0.0: ", library, " does not exist; ")),
                             HasSubstr("foo.off 1.0.0: "), Not(HasSubstr("\n"))));
}

TEST_F(MissingPlugins, ThatCannotBeCreatedAreStoredWithTheirError) {
  add_manifest("block", block());
  Runtime made = runtime();
  const std::string outer_file = file({"test.block"}), inner_file = (dir_ / "inner.so").string();
  std::filesystem::copy_file(outer_file, inner_file);
  program_plugin().refusals = 1;
  std::string inner_reason, inner_error;
  program_plugin().creating = [&] {
    inner_error = made.load(inner_file).error().message;
    inner_reason = made.load(inner_file, {.allow_missing = true})->missing().value().front();
  };

  const Module outer = made.load(outer_file, {.allow_missing = true}).value();

  EXPECT_THAT(inner_error, HasSubstr("requests itself while it is being created"));
  EXPECT_THAT(inner_reason, HasSubstr("requests itself while it is being created"));
  EXPECT_THAT(outer.missing().value().front(), HasSubstr("test.program 1.0.0: the unit is busy"));
}

TEST_F(MissingPlugins, WithoutACandidateAreStoredAsOfferedByNone) {
  add_manifest("block", ManifestBuilder().id("acme.other").key("acme.other"));
  Runtime made = runtime();
  const Words two = Words().u64s({0, 0}).u64s({}).str("acme.npu").u64(0);
  const Words container = Words().u64(two.size()).bytes(two.bytes());
  test::write_file(dir_ / "two.so",
                   test::ElfBuilder().object("__tvm_ffi__library_bin", container.bytes()).build());

  const auto model = made.load((dir_ / "two.so").string(), {.allow_missing = true});

  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_THAT(model->missing().value().front(), HasSubstr(" is not bound: no plugin offers it"));
}

TEST_F(MissingPlugins, OfEntriesAfterAnUnknownPayloadAreStoredAsThat) {
  Runtime made = runtime();
  Words entries;
  for (const char* key : {"acme.one", "acme.two", "acme.three"}) entries.str(key).str("x");
  const Words container = test::layout_one(3, entries, {0, 2, 2, 2}, {1, 2});
  test::write_file(dir_ / "model.so",
                   test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());

  const auto model = made.load((dir_ / "model.so").string(), {.allow_missing = true});

  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::vector<std::string> missing = model->missing().value();
  ASSERT_EQ(missing.size(), 3u);
  EXPECT_THAT(missing[0], HasSubstr("\"acme.one\" of model.so is not bound: no plugin offers it"));
  EXPECT_THAT(missing[2], HasSubstr(" is not bound: it follows a payload of unknown length"));
}

TEST_F(MissingPlugins, AreNotListedAsServed) {
  add_manifest("acme", npu());
  Runtime made = runtime();

  const auto model = made.load(file({"acme.npu"}));

  ASSERT_FALSE(model.ok());
  EXPECT_THAT(
      model.error().message,
      AllOf(StartsWith("model.so needs \"acme.npu\", served by no plugin\n"),
            HasSubstr("\n  type keys that are served: test.block, test.broken, test.unit\n"),
            Not(HasSubstr("near name"))));
}

// Only the loader can determine where such a payload ends, and its plugin cannot be opened.
TEST_F(MissingPlugins, AreReportedForAPayloadWithoutALayout) {
  add_manifest("acme", ManifestBuilder().id("acme.npu").key("acme.npu"));
  Runtime made = runtime();

  const auto model = made.load(file({"acme.npu", "acme.npu"}));

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().reason, "NO_PLUGIN");
  EXPECT_THAT(model.error().message,
              StartsWith("model.so needs \"acme.npu\", served by no plugin\n"));
}

TEST_F(MissingPlugins, OfAnOverrideAreNotReplacedByAnother) {
  add_manifest("block", block());
  Runtime made = runtime("plugins: {overrides: {test.block: acme.absent}}\n");

  const auto model = made.load(file({"test.block"}));

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().reason, "NO_PLUGIN");
  EXPECT_THAT(
      model.error().message,
      AllOf(HasSubstr("\n    its override is plugin acme.absent: install that plugin, or change "
                      "plugins.overrides\n"),
            HasSubstr("\n  type keys that are served: test.broken, test.unit\n"),
            Not(HasSubstr("near name"))));
}

}  // namespace
}  // namespace gantry
