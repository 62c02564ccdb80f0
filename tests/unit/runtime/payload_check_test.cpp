// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/payload_check.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/artifact_file.hpp"
#include "core/engine/runtime/payload_check.hpp"
#include "core/engine/runtime/state.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/library/world.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::SizeIs;

class CheckPayloads : public ::testing::Test {
 protected:
  // A file without CPU code: a payload of each type key.
  std::string file(const std::vector<std::string_view>& keys, std::string_view payload = "x") {
    test::Words entries;
    for (const std::string_view key : keys) entries.str(key).str(payload);
    const std::vector<std::uint64_t> rows(keys.size() + 1, 0);
    const test::Words container = test::layout_one(keys.size(), entries, rows, {});
    const auto path = directory / "model.so";
    test::write_file(path, test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return path.string();
  }
  Result<std::vector<PayloadCheck>> check(std::string_view way, const std::string& path) {
    world.add(
        "fake", way,
        test::ManifestBuilder().set("keys", "[{key: fake, payload: [str]}]").device("fake_device"));
    return check(path);
  }
  Result<std::vector<PayloadCheck>> check(const std::string& path) {
    RuntimeOptions options;
    options.plugin_paths = {world.path().string()};
    options.only_these_plugins = true;
    const Runtime runtime = test::make_runtime(std::move(options));
    RuntimeState& state = *state_of(runtime.get());
    GANTRY_TRY(const auto artifact, read_artifact(state, path));
    return check_payloads(state, *artifact);
  }

  test::World world;
  test::TempDir directory;
};

TEST_F(CheckPayloads, ReturnsTheVerdictForEachPayloadAndDevice) {
  const auto checks = check("unusable", file({"fake", "fake"})).value();

  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_EQ(checks[1].entry, 1u);
  EXPECT_EQ(checks[1].location, "entry 1 \"fake\" of model.so");
  EXPECT_EQ(checks[1].plugin, "test.fake");
  EXPECT_EQ(checks[1].device, "fake_device:0");
  EXPECT_EQ(checks[1].verdict.value(), GANTRY_VERDICT_NO);
}

TEST_F(CheckPayloads, ReportsAPluginThatDoesNotCheck) {
  const auto checks = check("good", file({"fake"})).value();

  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_EQ(checks[0].device, "");
  EXPECT_EQ(checks[0].verdict.error().code, Code::unsupported);
  EXPECT_EQ(checks[0].verdict.error().message,
            "gantry.loader/1.check_binary is not offered by this plugin\n"
            "  while checking entry 0 \"fake\" of model.so");
}

TEST_F(CheckPayloads, ReportsAnInvalidVerdict) {
  const auto checks = check("wrong_verdict", file({"fake"})).value();

  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_EQ(checks[0].verdict.error().code, Code::bug);
  EXPECT_EQ(checks[0].verdict.error().reason, "VERDICT");
  EXPECT_EQ(checks[0].verdict.error().message,
            "check_binary of plugin test.fake returns verdict 4, expected 0 to 3");
}

TEST_F(CheckPayloads, ReportsAPluginThatCannotBeCreated) {
  world.add("fake", "create_fails",
            test::ManifestBuilder()
                .id("test.second")
                .version("2.0.0")
                .set("keys", "[{key: fake, payload: [str]}]")
                .device("fake_device"));
  const auto checks = check(file({"fake"})).value();

  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_EQ(checks[0].verdict.error().code, Code::unavailable);
  EXPECT_EQ(checks[0].verdict.error().reason, "CREATE_FAILED");
}

TEST_F(CheckPayloads, OmitsKeysWithoutAPlugin) {
  EXPECT_THAT(check("good", file({"other"})).value(), SizeIs(0));
}

// A manifest can offer any key.
TEST_F(CheckPayloads, OmitsCpuCode) {
  world.add("fake", "good",
            test::ManifestBuilder()
                .set("keys", "[{key: fake, payload: [str]}, {key: _lib, payload: []}]")
                .device("fake_device"));
  test::Words entries;
  entries.str("_lib").str("fake").str("x");
  const test::Words container = test::layout_one(2, entries, {0, 1, 1}, {1});
  const auto path = directory / "model.so";
  test::write_file(path, test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());

  const auto checks = check(path.string()).value();

  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_EQ(checks[0].entry, 1u);
}

TEST_F(CheckPayloads, ReportsAFileThatCannotBeRead) {
  const auto checks = check("good", (directory / "none.so").string());

  ASSERT_FALSE(checks.ok());
  EXPECT_EQ(checks.error().code, Code::not_found);
}

}  // namespace
}  // namespace gantry
