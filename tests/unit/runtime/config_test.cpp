// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/config_files.hpp"

#include "tests/support/files.hpp"
#include "tests/support/schema.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gantry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
      "  user: false\n"
      "  fallback: false\n"
      "  trust: my/trust.yaml\n"
      "  lock: /my/plugins.lock\n"
      "backends:\n"
      "  gantry.graph:\n"
      "    config: {alignment: 128, name: fast}\n"
      "devices: {opencl: {memory_limit_mib: 64}}\n"
      "environment: deny\n"
      "cpus: 5,0-2,1\n"
      "threads: 3\n"
      "spin_us: 50\n"
      "cache: none\n"
      "strict: true\n"
      "log: debug\n",
      "/etc/gantry/runtime.yaml");

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_THAT(config->manifests, ElementsAre("/etc/gantry/one.yaml", "/abs/two.yaml"));
  EXPECT_THAT(config->dirs, ElementsAre("/etc/gantry/plugins.d"));
  EXPECT_FALSE(config->user_plugins);
  EXPECT_FALSE(config->fallback);
  EXPECT_FALSE(config->environment);
  ASSERT_EQ(config->disable.size(), 1u);
  EXPECT_EQ(config->disable[0].glob, "*vulkan*");
  ASSERT_EQ(config->select.size(), 1u);
  EXPECT_EQ(config->select[0].glob, "gantry.graph");
  ASSERT_EQ(config->overrides.size(), 1u);
  EXPECT_EQ(config->overrides[0].what, "cuda");
  EXPECT_EQ(config->overrides[0].id, "acme.cuda");
  EXPECT_EQ(config->trust_file, "/etc/gantry/my/trust.yaml");
  EXPECT_EQ(config->lock_file, "/my/plugins.lock");
  ASSERT_EQ(config->backends.size(), 1u);
  EXPECT_EQ(config->backends[0].id, "gantry.graph");
  ASSERT_EQ(config->backends[0].options.size(), 2u);
  EXPECT_EQ(config->backends[0].options[0].key, "alignment");
  EXPECT_EQ(config->backends[0].options[0].text, "128");
  ASSERT_EQ(config->devices.size(), 1u);
  EXPECT_EQ(config->devices[0].name, "opencl");
  EXPECT_EQ(config->devices[0].memory_limit_bytes, 64 << 20);
  EXPECT_THAT(config->cpus, ElementsAre(0, 1, 2, 5));
  EXPECT_EQ(config->threads, 3);
  EXPECT_EQ(config->spin_us, 50);
  EXPECT_EQ(config->cache, "none");
  EXPECT_TRUE(config->strict);
  EXPECT_EQ(config->strict_file, "/etc/gantry/runtime.yaml");
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
        BadConfig{"Cpus", "cpus: 3-1\n", "runtime.yaml:1:7: cpus: expected CPUs as in \"0-3,8\""},
        BadConfig{"CpusEmpty", "cpus: 0,,1\n", "runtime.yaml:1:7: cpus: expected CPUs"},
        BadConfig{"CpusMany", "cpus: 0-65536\n", "runtime.yaml:1:7: cpus: expected CPUs"},
        BadConfig{"CpusRepeated", "cpus: 0-65535,0\n", "runtime.yaml:1:7: cpus: expected CPUs"},
        BadConfig{"MemoryLimitZero", "devices: {cpu: {memory_limit_mib: 0}}\n",
                  "devices.cpu.memory_limit_mib: expected"},
        BadConfig{"Environment", "environment: no\n", "runtime.yaml:1:14: environment: expected"},
        BadConfig{"PinsAList", "plugins: {overrides: [cuda]}\n",
                  "runtime.yaml:1:22: plugins.overrides: expected"}),
    [](const auto& test) { return test.param.name; });

TEST(Config, RequiresThatANamedFileExists) {
  const auto config = read_config({.file = "/nowhere/runtime.yaml"});

  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, Code::not_found);
  EXPECT_THAT(config.error().message,
              HasSubstr("while reading the configuration /nowhere/runtime.yaml"));
}

TEST(Config, ReportsAFileThatIsMalformed) {
  const test::TempDir dir;
  test::write_file(dir / "runtime.yaml", "threads: many\n");
  const std::string path = (dir / "runtime.yaml").string();

  const auto config = read_config({.file = path});

  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, Code::malformed);
  EXPECT_THAT(config.error().message, HasSubstr("while reading the configuration " + path));
}

TEST(Config, HasDefaultsForAnEmptyFile) {
  const test::TempDir dir;
  test::write_file(dir / "runtime.yaml", "");

  const auto config = read_config({.file = (dir / "runtime.yaml").string()});

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->threads, 0);
}

// configs/runtime.yaml contains every key with its default.
TEST(Config, HasTheDefaultsOfTheInstalledExample) {
  const auto config = read_config({.file = GANTRY_SOURCE_DIR "/configs/runtime.yaml"});

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->threads, Config().threads);
  EXPECT_EQ(config->spin_us, Config().spin_us);
  EXPECT_EQ(config->cache, Config().cache);
  EXPECT_EQ(config->trust_file, Config().trust_file);
  EXPECT_EQ(config->lock_file, Config().lock_file);
  EXPECT_EQ(config->log, Config().log);
  EXPECT_TRUE(config->manifests.empty() && config->dirs.empty() && config->disable.empty());
  EXPECT_TRUE(config->overrides.empty() && config->backends.empty() && config->devices.empty());
  EXPECT_EQ(config->user_plugins, Config().user_plugins);
  EXPECT_EQ(config->fallback, Config().fallback);
  EXPECT_EQ(config->strict, Config().strict);
  EXPECT_EQ(config->environment, Config().environment);
}

// Values replace, lists are appended, maps are merged.
TEST(Config, MergesFiles) {
  Config config = parse_config(
                      "plugins: {dirs: [a], disable: [one], overrides: {cuda: one.a, npu: one.b}}\n"
                      "backends: {p.q: {config: {level: 1}}}\n"
                      "devices: {cpu: {memory_limit_mib: 1}, opencl: {memory_limit_mib: 2}}\n"
                      "threads: 2\nspin_us: 7\n",
                      "/base.yaml")
                      .value();

  ASSERT_TRUE(apply_config("plugins: {dirs: [b], disable: [two], overrides: {cuda: two.a}}\n"
                           "backends: {p.q: {config: {level: 3}}}\n"
                           "devices: {cpu: {memory_limit_mib: 5}}\n"
                           "threads: 4\n",
                           "/d/more.yaml", config)
                  .ok());

  EXPECT_THAT(config.files, ElementsAre("/base.yaml", "/d/more.yaml"));
  EXPECT_THAT(config.dirs, ElementsAre("/a", "/d/b"));
  ASSERT_EQ(config.disable.size(), 2u);
  EXPECT_EQ(config.disable[1].file, "/d/more.yaml");
  ASSERT_EQ(config.overrides.size(), 2u);
  EXPECT_EQ(config.overrides[0].what, "npu");
  EXPECT_EQ(config.overrides[1].id, "two.a");
  ASSERT_EQ(config.backends.size(), 2u);
  ASSERT_EQ(config.devices.size(), 2u);
  EXPECT_EQ(config.devices[1].name, "cpu");
  EXPECT_EQ(config.devices[1].memory_limit_bytes, 5 << 20);
  EXPECT_EQ(config.threads, 4);
  EXPECT_EQ(config.spin_us, 7);
}

// The directories of an administrator, of this boot and of packages.
struct ConfigDirectories : testing::Test {
  test::TempDir dir;
  std::vector<std::string> all{(dir / "etc").string(), (dir / "run").string(),
                               (dir / "usr").string()};

  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((dir / name).parent_path());
    test::write_file(dir / name, std::string_view(text));
  }
  int threads() {
    const auto config = read_config({.directories = all});
    return config.ok() ? config->threads : -1;
  }
};

TEST_F(ConfigDirectories, HaveOneBaseFile) {
  EXPECT_EQ(threads(), 0);
  write("usr/runtime.yaml", "threads: 3\n");
  EXPECT_EQ(threads(), 3);
  write("run/runtime.yaml", "spin_us: 1\n");
  EXPECT_EQ(threads(), 0);
}

TEST_F(ConfigDirectories, HaveDropInsInTheOrderOfTheirNames) {
  write("etc/runtime.yaml", "threads: 1\n");
  write("usr/runtime.yaml.d/20.yaml", "threads: 20\n");
  write("etc/runtime.yaml.d/10.yaml", "threads: 10\n");
  write("etc/runtime.yaml.d/notes.txt", "threads: 99\n");
  write("etc/runtime.yaml.d/.30.yaml", "threads: 99\n");
  EXPECT_EQ(threads(), 20);
}

TEST_F(ConfigDirectories, ReplaceAndMaskFilesOfTheSameName) {
  write("usr/runtime.yaml", "threads: 1\n");
  write("usr/runtime.yaml.d/10.yaml", "threads: 10\n");
  write("run/runtime.yaml.d/10.yaml", "spin_us: 5\n");
  EXPECT_EQ(threads(), 1);

  write("usr/runtime.yaml.d/20.yaml", "threads: 20\n");
  write("etc/runtime.yaml.d/20.yaml", "");
  EXPECT_EQ(threads(), 1);

  std::filesystem::create_symlink("/dev/null", dir / "etc/runtime.yaml");
  EXPECT_EQ(threads(), 0);
}

TEST_F(ConfigDirectories, AreNotReadForANamedFile) {
  write("etc/runtime.yaml", "threads: 1\n");
  write("own.yaml", "threads: 2\n");
  write("own.yaml.d/10.yaml", "spin_us: 6\n");

  const auto config = read_config({.file = (dir / "own.yaml").string(), .directories = all});

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->threads, 2);
  EXPECT_EQ(config->spin_us, 6);
  EXPECT_THAT(config->files,
              ElementsAre((dir / "own.yaml").string(), (dir / "own.yaml.d/10.yaml").string()));
}

// A base file, a drop-in and a mask.
TEST_F(ConfigDirectories, AreRefusedIfOthersCanChangeAFile) {
  for (const char* name : {"run/runtime.yaml", "run/runtime.yaml.d/10.yaml"}) {
    for (const char* text : {"threads: 2\n", ""}) {
      write(name, text);
      const std::string directory = (dir / name).parent_path().string();
      ::chmod(directory.c_str(), 0777);

      const auto config = read_config({.directories = all});

      ASSERT_FALSE(config.ok()) << name;
      EXPECT_EQ(config.error().code, Code::unavailable);
      EXPECT_EQ(config.error().reason, "PERMISSIONS");
      EXPECT_THAT(config.error().message,
                  AllOf(HasSubstr(concat("directory ", directory, ", on the path of ")),
                        HasSubstr("has mode 0777"),
                        HasSubstr("while reading the configuration " + (dir / name).string())));
      std::filesystem::remove_all(dir / "run");
    }
  }
  EXPECT_EQ(threads(), 0);
}

TEST_F(ConfigDirectories, AreNotRefusedForAFileThatIsReplaced) {
  write("usr/runtime.yaml.d/10.yaml", "threads: 2\n");
  ::chmod((dir / "usr/runtime.yaml.d/10.yaml").c_str(), 0666);
  EXPECT_EQ(threads(), -1);

  write("etc/runtime.yaml.d/10.yaml", "threads: 3\n");
  EXPECT_EQ(threads(), 3);
}

// A program with more privileges than its caller may take the name from the caller.
TEST_F(ConfigDirectories, CheckANamedFileOnlyInAnElevatedProcess) {
  if (geteuid() != 0) GTEST_SKIP() << "an elevated process trusts only root";
  for (const char* name : {"own.yaml", "own.yaml.d/10.yaml"}) {
    write("own.yaml", "threads: 2\n");
    write("own.yaml.d/10.yaml", "spin_us: 6\n");
    const std::string file = (dir / "own.yaml").string();
    EXPECT_TRUE(read_config({.file = file, .elevated = true}).ok());
    ::chmod((dir / name).c_str(), 0666);

    const auto elevated = read_config({.file = file, .elevated = true});

    ASSERT_FALSE(elevated.ok());
    EXPECT_EQ(elevated.error().reason, "PERMISSIONS");
    EXPECT_TRUE(read_config({.file = file}).ok());
    ::chmod((dir / name).c_str(), 0644);
  }
}

TEST_F(ConfigDirectories, ReportTheFileThatIsMalformed) {
  write("etc/runtime.yaml.d/10.yaml", "threads: many\n");

  const auto config = read_config({.directories = all});

  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message,
              HasSubstr(concat("while reading the configuration ",
                               (dir / "etc/runtime.yaml.d/10.yaml").string())));
}

TEST(Config, ListsTheDirectoriesOfThePage) {
  EXPECT_THAT(system_config_directories(),
              ElementsAre("/etc/gantry", "/run/gantry", "/usr/share/gantry"));
}

TEST(Config, IsReadFromAFile) {
  const test::TempDir dir;
  test::write_file(dir / "runtime.yaml", "threads: 2\n");

  const auto config = read_config({.file = (dir / "runtime.yaml").string()});

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->threads, 2);
}

TEST(RuntimeSchema, EqualsTheFieldsOfTheReader) {
  const auto schema =
      test::Json::parse(test::file_text(test::config("schema/runtime.schema.json")));

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
