// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/config.hpp"

#include "tests/support/files.hpp"
#include "tests/support/schema.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(Config, HasDefaultsForAnEmptyText) {
  const auto config = parse_config("# nothing but a comment\n", "/etc/gantry/runtime.yaml");

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->threads, 0);
  EXPECT_EQ(config->log, LogLevel::warning);
  EXPECT_TRUE(config->dirs.empty());
}

TEST(Config, ReadsEveryKey) {
  const auto config = parse_config(
      "plugins:\n"
      "  manifests: [one.yaml, /abs/two.yaml]\n"
      "  dirs: [plugins.d]\n"
      "  disable: [\"*vulkan*\"]\n"
      "  select: [gantry.graph]\n"
      "  overrides: {cuda: acme.cuda}\n"
      "backends:\n"
      "  gantry.graph:\n"
      "    config: {alignment: 128, name: fast}\n"
      "threads: 3\n"
      "spin_us: 50\n"
      "cache: none\n"
      "log: debug\n",
      "/etc/gantry/runtime.yaml");

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_THAT(config->manifests, ElementsAre("/etc/gantry/one.yaml", "/abs/two.yaml"));
  EXPECT_THAT(config->dirs, ElementsAre("/etc/gantry/plugins.d"));
  EXPECT_THAT(config->disable, ElementsAre("*vulkan*"));
  EXPECT_THAT(config->select, ElementsAre("gantry.graph"));
  EXPECT_THAT(config->overrides, ElementsAre(Pair("cuda", "acme.cuda")));
  ASSERT_EQ(config->backends.size(), 1u);
  EXPECT_EQ(config->backends[0].first, "gantry.graph");
  ASSERT_EQ(config->backends[0].second.size(), 2u);
  EXPECT_EQ(config->backends[0].second[0].key, "alignment");
  EXPECT_EQ(config->backends[0].second[0].text, "128");
  EXPECT_EQ(config->threads, 3);
  EXPECT_EQ(config->spin_us, 50);
  EXPECT_EQ(config->cache, "none");
  EXPECT_EQ(config->log, LogLevel::debug);
}

struct BadConfig {
  const char* name;
  const char* text;
  const char* said;
};
class ConfigRefuses : public testing::TestWithParam<BadConfig> {};

TEST_P(ConfigRefuses, WithTheLocationAndTheExpectedValue) {
  const auto config = parse_config(GetParam().text, "runtime.yaml");

  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, Code::malformed);
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    Each, ConfigRefuses,
    testing::Values(
        BadConfig{"UnknownKey", "thread: 2\n", "runtime.yaml:1:1: thread: unknown key"},
        BadConfig{"NearName", "thread: 2\n", "did you mean \"threads\""},
        BadConfig{"ThreadsNegative", "threads: -1\n", "runtime.yaml:1:10: threads: expected"},
        BadConfig{"ThreadsMany", "threads: 1025\n", "1024"},
        BadConfig{"SpinNegative", "spin_us: -1\n", "runtime.yaml:1:10: spin_us: expected"},
        BadConfig{"SpinLong", "spin_us: 1000001\n", "1000000"},
        BadConfig{"LogLevel", "log: loud\n", "runtime.yaml:1:6: log: expected"},
        BadConfig{"PinsAList", "plugins: {overrides: [cuda]}\n",
                  "runtime.yaml:1:22: plugins.overrides: expected"}),
    [](const auto& test) { return test.param.name; });

TEST(Config, RequiresThatANamedFileExists) {
  const auto config = read_config("/nowhere/runtime.yaml");

  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, Code::not_found);
  EXPECT_THAT(config.error().message,
              HasSubstr("while reading the configuration /nowhere/runtime.yaml"));
}

TEST(Config, ReportsAFileThatIsMalformed) {
  const test::TempDir dir;
  test::write_file(dir / "runtime.yaml", "threads: many\n");
  const std::string path = (dir / "runtime.yaml").string();

  const auto config = read_config(path);

  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, Code::malformed);
  EXPECT_THAT(config.error().message, HasSubstr("while reading the configuration " + path));
}

TEST(Config, HasDefaultsForAnEmptyFile) {
  const test::TempDir dir;
  test::write_file(dir / "runtime.yaml", "");

  const auto config = read_config((dir / "runtime.yaml").string());

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->threads, 0);
}

// configs/runtime.yaml contains every key with its default.
TEST(Config, HasTheDefaultsOfTheInstalledExample) {
  const auto config = read_config(GANTRY_SOURCE_DIR "/configs/runtime.yaml");

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->threads, Config().threads);
  EXPECT_EQ(config->spin_us, Config().spin_us);
  EXPECT_EQ(config->cache, Config().cache);
  EXPECT_EQ(config->log, Config().log);
  EXPECT_TRUE(config->manifests.empty() && config->dirs.empty() && config->disable.empty());
  EXPECT_TRUE(config->overrides.empty() && config->backends.empty());
}

TEST(Config, IsReadFromAFile) {
  const test::TempDir dir;
  test::write_file(dir / "runtime.yaml", "threads: 2\n");

  const auto config = read_config((dir / "runtime.yaml").string());

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->threads, 2);
}

TEST(RuntimeSchema, EqualsTheFieldsOfTheReader) {
  const auto schema = test::Json::parse(test::text_of(test::config("schema/runtime.schema.json")));

  test::expect_same(config_fields(), schema, "");
}

TEST(Config, AcceptsNumbersAtTheirLimits) {
  const auto largest = parse_config("threads: 1024\nspin_us: 1000000\n", "runtime.yaml");
  const auto least = parse_config("threads: 0\nspin_us: 0\n", "runtime.yaml");

  ASSERT_TRUE(largest.ok()) << largest.error().message;
  EXPECT_EQ(largest->threads, 1024);
  EXPECT_EQ(largest->spin_us, 1'000'000);
  ASSERT_TRUE(least.ok()) << least.error().message;
  EXPECT_EQ(least->spin_us, 0);
}

TEST(Config, ResolvesTheCacheDirectoryBesideItself) {
  EXPECT_EQ(parse_config("cache: here/cache\n", "/etc/gantry/runtime.yaml")->cache,
            "/etc/gantry/here/cache");
}

}  // namespace
}  // namespace gantry
