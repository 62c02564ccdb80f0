// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/plugin.hpp"

#include "core/base/reason.hpp"
#include "tests/support/own_mounts.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

#include <sys/resource.h>

namespace gantry {
namespace {

using test::core_info;
using test::fake_manifest;
using test::ManifestBuilder;
using test::World;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(OpenPlugin, ReturnsTheTablesOfAGoodPlugin) {
  World world;
  world.add("good", "good");

  const auto plugin = open_plugin(world.manifest("good"), core_info());

  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  EXPECT_EQ((*plugin)->id, "test.fake");
  EXPECT_EQ((*plugin)->version.text, "1.0.0");
  EXPECT_EQ((*plugin)->abi_minor, 0u);
  EXPECT_EQ((*plugin)->library, world.library("good").string());
  EXPECT_NE((*plugin)->identity.inode, 0u);
  ASSERT_NE((*plugin)->loader("fake"), nullptr);
  EXPECT_EQ((*plugin)->loader("fakf"), nullptr);
  EXPECT_NE((*plugin)->loader("fake")->check_binary, nullptr);
  ASSERT_NE((*plugin)->device("fake_device"), nullptr);
  EXPECT_NE((*plugin)->device("fake_device")->synchronize, nullptr);
  EXPECT_TRUE((*plugin)->warnings.empty());
}

TEST(OpenPlugin, OpensTheSamePluginTwiceAsOneLibrary) {
  World world;
  world.add("good", "good");

  const auto first = open_plugin(world.manifest("good"), core_info());
  const auto second = open_plugin(world.manifest("good"), core_info());

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->table.create, (*second)->table.create);
}

TEST(OpenPlugin, AcceptsALongerTableAndAWiderRange) {
  World world;
  world.add("long", "long_table");
  world.add("wide", "wider_abi", fake_manifest().abi("{major: 1, min_minor: 0, max_minor: 9}"));

  EXPECT_TRUE(open_plugin(world.manifest("long"), core_info()).ok());
  const auto wide = open_plugin(world.manifest("wide"), core_info());
  ASSERT_TRUE(wide.ok()) << wide.error().message;
  EXPECT_EQ((*wide)->abi_minor, 0u);
}

TEST(OpenPlugin, WarnsAboutALoaderThatTheManifestOmits) {
  World world;
  world.add("good", "good", ManifestBuilder().device("fake_device"));

  const auto plugin = open_plugin(world.manifest("good"), core_info());

  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  EXPECT_THAT((*plugin)->warnings,
              testing::ElementsAre(HasSubstr("does not offer type key \"fake\"")));
}

struct Broken {
  std::string variant;
  ManifestBuilder manifest;
  Code code;
  std::uint16_t number;
  std::string reason;
  // part of the message
  std::string text;
};

class OpenPluginRejects : public ::testing::TestWithParam<Broken> {};

TEST_P(OpenPluginRejects, WithCodeReasonAndText) {
  const Broken& broken = GetParam();
  World world;
  world.add("broken", broken.variant, broken.manifest);

  const auto plugin = open_plugin(world.manifest("broken"), core_info());

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, broken.code) << plugin.error().message;
  EXPECT_EQ(plugin.error().reason, broken.reason) << plugin.error().message;
  EXPECT_EQ(reason_of(plugin.error()).number, broken.number);
  EXPECT_THAT(plugin.error().message, HasSubstr(broken.text));
  EXPECT_THAT(plugin.error().message, testing::Not(HasSubstr("Bad file descriptor")));
}

INSTANTIATE_TEST_SUITE_P(
    Fakes, OpenPluginRejects,
    ::testing::Values(
        Broken{"wrong_id", fake_manifest(), Code::malformed, 230, "ID_MISMATCH",
               "broken.yaml declares id test.fake, "},
        Broken{"wrong_version", fake_manifest(), Code::malformed, 230, "VERSION_MISMATCH",
               "libfake.so declares 1.0.1: the two belong to different installations"},
        Broken{"odd_version", fake_manifest(), Code::malformed, 230, "VERSION_MISMATCH",
               "version \"one\" has 1 numbers"},
        Broken{"no_note", fake_manifest(), Code::malformed, 232, "NOTE_MISSING",
               "libfake.so has no note with a plugin's identity among its "},
        Broken{"query_of_other_id", fake_manifest(), Code::malformed, 230, "ID_MISMATCH",
               "libfake.so declare id test.fake, gantry_plugin_query_v1 returns test.other: build "
               "the note and gantry_plugin_table from the same definitions"},
        Broken{"query_of_other_version", fake_manifest(), Code::malformed, 230, "VERSION_MISMATCH",
               "libfake.so declare version 1.0.0, gantry_plugin_query_v1 returns 1.0.1: "},
        Broken{"query_of_other_abi", fake_manifest(), Code::malformed, 231, "ABI_MISMATCH",
               "libfake.so declare ABI 1.0, gantry_plugin_query_v1 returns 1.0-1.9: "},
        Broken{"other_key", fake_manifest(), Code::malformed, 224, "KEY_NOT_OFFERED",
               "offers type key \"fake\", "},
        Broken{"good", fake_manifest().device("second_device"), Code::malformed, 224,
               "KEY_NOT_OFFERED", "offers device \"second_device\", "},
        Broken{"good", fake_manifest().set("devices", "[{name: fake_device, dlpack: 20}]"),
               Code::malformed, 226, "DEVICE_MISMATCH",
               "declares dlpack 20 of device \"fake_device\", its table in "},
        Broken{"numbered_device", fake_manifest(), Code::malformed, 226, "DEVICE_MISMATCH",
               "declares dlpack ext of device \"fake_device\", its table in "},
        Broken{"newer_abi", fake_manifest(), Code::unsupported, 210, "ABI_RANGE",
               "plugin test.fake 1.0.0 supports ABI 1.4-1.6, this core supports 1.0: the plugin is "
               "newer"},
        Broken{"newer_major", fake_manifest(), Code::unsupported, 210, "ABI_RANGE",
               "supports ABI 2.0-2.1, this core supports 1.0"},
        Broken{"good", fake_manifest().abi("{major: 1, min_minor: 3, max_minor: 5}"),
               Code::unsupported, 210, "ABI_RANGE",
               "plugin test.fake 1.0.0 supports ABI 1.3-1.5, this core supports 1.0"},
        Broken{"short_table", fake_manifest(), Code::malformed, 212, "STRUCT_SIZE",
               "gantry_plugin_table has struct_size 104, minimum is 112 (ABI 1.0)"},
        Broken{"null_create", fake_manifest(), Code::malformed, 221, "FUNCTION_MISSING",
               "gantry.plugin/1.create is empty"},
        Broken{"null_version", fake_manifest(), Code::malformed, 221, "FUNCTION_MISSING",
               "gantry.plugin/1.version is empty"},
        Broken{"null_loaders", fake_manifest(), Code::malformed, 221, "FUNCTION_MISSING",
               "plugin test.fake 1.0.0: gantry.plugin/1.loaders is empty, loader_count is 1"},
        Broken{"null_loader", fake_manifest(), Code::malformed, 221, "FUNCTION_MISSING",
               "plugin test.fake 1.0.0, loader 0: gantry_loader_table is empty"},
        Broken{"null_load_binary", fake_manifest(), Code::malformed, 221, "FUNCTION_MISSING",
               "plugin test.fake 1.0.0, loader 0: gantry.loader/1.load_binary is empty"},
        Broken{"null_count", fake_manifest(), Code::malformed, 221, "FUNCTION_MISSING",
               "plugin test.fake 1.0.0, device 0: gantry.device/1.count is empty"},
        Broken{"huge_loader_count", fake_manifest(), Code::malformed, 222, "TABLE_LIMIT",
               "gantry.plugin/1.loader_count is 1000000, limit is 256"},
        Broken{"negative_device_count", fake_manifest(), Code::malformed, 222, "TABLE_LIMIT",
               "gantry.plugin/1.device_count is 4294967295, limit is 64"},
        Broken{"bad_device_name", fake_manifest(), Code::malformed, 222, "TABLE_LIMIT",
               "device name \"Fake Device\", expected [a-z][a-z0-9_]*"},
        Broken{"twice_the_same_key", fake_manifest(), Code::malformed, 223, "KEY_DUPLICATE",
               "type key \"fake\" is offered twice"},
        Broken{
            "no_query", fake_manifest(), Code::malformed, 220, "QUERY_MISSING",
            "does not export gantry_plugin_query_v1, found fake_entry: it is not a gantry plugin "
            "of ABI 1"},
        Broken{"query_fails", fake_manifest(), Code::unsupported, 210, "ABI_RANGE",
               "fake: this core is too old"},
        Broken{"query_says_nothing", fake_manifest(), Code::unsupported, 225, "QUERY_FAILED",
               "gantry_plugin_query_v1 fails as unsupported without a reason"},
        Broken{"query_throws", fake_manifest(), Code::bug, 225, "QUERY_FAILED",
               "gantry_plugin_query_v1 throws: fake: query throws"},
        Broken{"imports_core", fake_manifest(), Code::unsupported, 331, "SYMBOL_MISSING",
               "imports gantry_core_secret: plugins must not import core symbols"},
        Broken{"imports_nobody", fake_manifest(), Code::unavailable, 331, "SYMBOL_MISSING",
               "no library defines _ZN7sibling21removed_by_an_upgradeEi "
               "(sibling::removed_by_an_upgrade(int))"},
        Broken{"missing_dependency", fake_manifest(), Code::unavailable, 330, "LIB_NEEDED_MISSING",
               "libfake_dependency.so.4 is not found, needed by libfake.so; searched $ORIGIN="},
        Broken{"static_tls", fake_manifest(), Code::unsupported, 321, "STATIC_TLS",
               "bytes of static thread-local storage"},
        Broken{"exec_stack", fake_manifest(), Code::unsupported, 320, "EXEC_STACK",
               "requires an executable stack, which newer systems reject; link it with "
               "-Wl,-z,noexecstack"}),
    [](const auto& test) { return concat(test.param.variant, "_", test.index); });

TEST(OpenPlugin, NamesNearSonamesOfAMissingDependency) {
  World world;
  world.add("broken", "missing_dependency");
  test::write_file(world.path() / "broken/libfake_dependency.so.3", std::string_view("older"));

  const auto plugin = open_plugin(world.manifest("broken"), core_info());

  ASSERT_FALSE(plugin.ok());
  EXPECT_THAT(plugin.error().message, HasSubstr("; found libfake_dependency.so.3 there"));
}

// After an atomic replacement the linker returns the library that is already open: old code with
// the path of the new file.
TEST(OpenPlugin, RejectsAFileThatReplacedALoadedOne) {
  World world;
  world.add("good", "good");
  ASSERT_TRUE(open_plugin(world.manifest("good"), core_info()).ok());
  std::filesystem::copy_file(test::fake_library("good"), world.path() / "new.so");
  std::filesystem::rename(world.path() / "new.so", world.library("good"));

  const auto plugin = open_plugin(world.manifest("good"), core_info());

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, Code::unavailable);
  EXPECT_EQ(plugin.error().reason, "STALE_MAPPED");
  EXPECT_EQ(plugin.error().message, test::other_file_text(world.library("good").string()));
}

TEST(OpenPlugin, OpensALibraryWithoutProc) {
  World world;
  world.add("good", "good");
  test::expect_with_mount("/proc", 0, [&]() -> std::string {
    const auto plugin = open_plugin(world.manifest("good"), core_info());
    return plugin.ok() ? "" : plugin.error().message;
  });
}

TEST(OpenPlugin, NamesAFileSystemWithoutExecution) {
  World world;
  std::filesystem::create_directory(world.path() / "good");
  test::expect_with_mount((world.path() / "good").string(), MS_NOEXEC, [&]() -> std::string {
    world.add("good", "good");
    const auto plugin = open_plugin(world.manifest("good"), core_info());
    if (plugin.ok()) return "it is opened";
    const std::string& text = plugin.error().message;
    return text.find(concat((world.path() / "good").string(),
                            " is on a file system that is mounted noexec")) != std::string::npos
               ? ""
               : text;
  });
}

TEST(OpenPlugin, ReportsThatNoDescriptorIsLeftAndOpensTheLibraryLater) {
  World world;
  world.add("good", "good");
  const Manifest manifest = world.manifest("good");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit standard_only{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &standard_only), 0);

  const auto plugin = open_plugin(manifest, core_info());

  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, Code::exhausted);
  EXPECT_EQ(plugin.error().reason, "EXHAUSTED");
  EXPECT_THAT(plugin.error().message,
              HasSubstr(" cannot be opened: Too many open files; raise the limit of open files"));
  EXPECT_TRUE(open_plugin(manifest, core_info()).ok());
}

TEST(OpenPlugin, OpensARenamedLibraryAndALink) {
  World world;
  world.add("good", "good", fake_manifest().library("other_name.so"));
  std::filesystem::rename(world.library("good"), world.path() / "good/other_name.so");
  EXPECT_TRUE(open_plugin(world.manifest("good"), core_info()).ok());

  world.add("linked", "", fake_manifest());
  std::filesystem::create_symlink(world.path() / "good/other_name.so", world.library("linked"));
  EXPECT_TRUE(open_plugin(world.manifest("linked"), core_info()).ok());
}

const gantry_plugin_table* nothing(const gantry_host_info*, gantry_status*) { return nullptr; }

TEST(AdoptPlugin, RunsTheQueryOfTheProgramsPlugin) {
  const auto plugin = adopt_plugin(nothing, core_info());

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().reason, "QUERY_FAILED");
  EXPECT_THAT(plugin.error().message, StartsWith("the program's plugin: gantry_plugin_query_v1"));
}

// A valid table, which tests modify. query() returns the table that was created last.
struct ProgramTable {
  ProgramTable() {
    loader.struct_size = sizeof loader;
    loader.type_key = "fake";
    loader.load_binary = [](void*, const gantry_blob*, gantry_object*, gantry_module*,
                            std::uint64_t*,
                            gantry_status*) -> gantry_code { return GANTRY_UNSUPPORTED; };
    for (gantry_device_table* device : {&first, &second}) {
      device->struct_size = sizeof *device;
      device->name = device == &first ? "first" : "second";
      device->count = [](void*, std::int32_t*, gantry_status*) -> gantry_code { return GANTRY_OK; };
      device->alloc = [](void*, std::int32_t, const gantry_alloc*, void**,
                         gantry_status*) -> gantry_code { return GANTRY_OK; };
      device->free = [](void*, std::int32_t, void*) {};
      device->copy = [](void*, std::int32_t, const gantry_copy*, void*,
                        gantry_status*) -> gantry_code { return GANTRY_OK; };
    }
    table.struct_size = sizeof table;
    table.abi = {1, 0, 0, 0};
    table.id = "test.program";
    table.version = "1.0.0";
    table.loaders = loaders;
    table.loader_count = 1;
    table.devices = devices;
    table.device_count = 2;
    table.create = [](const gantry_host*, void**, gantry_status*) -> gantry_code {
      return GANTRY_OK;
    };
    table.destroy = [](void*) {};
    newest = this;
  }

  static const gantry_plugin_table* query(const gantry_host_info*, gantry_status*) {
    return &newest->table;
  }
  static inline const ProgramTable* newest = nullptr;

  gantry_loader_table loader{};
  gantry_device_table first{}, second{};
  const gantry_loader_table* loaders[1] = {&loader};
  const gantry_device_table* devices[2] = {&first, &second};
  gantry_plugin_table table{};
};

TEST(AdoptPlugin, AcceptsATypeKeyOfTheMaximalLength) {
  ProgramTable program;
  const std::string key(256, 'k');
  program.loader.type_key = key.c_str();

  const auto plugin = adopt_plugin(ProgramTable::query, core_info());

  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  EXPECT_NE((*plugin)->loader(key), nullptr);
}

TEST(AdoptPlugin, RejectsNamesThatAManifestCannotHave) {
  const std::string long_key(257, 'k');
  struct Bad {
    std::string what;
    void (*spoil)(ProgramTable&, const std::string& long_key);
    std::string reason, message;
  };
  const Bad bad[] = {
      {"empty key", [](ProgramTable& p, const std::string&) { p.loader.type_key = ""; },
       "TABLE_LIMIT",
       "plugin test.program 1.0.0, loader 0: type key of 0 bytes, expected 1 to 256"},
      {"long key", [](ProgramTable& p, const std::string& key) { p.loader.type_key = key.c_str(); },
       "TABLE_LIMIT",
       "plugin test.program 1.0.0, loader 0: type key of over 256 bytes, expected 1 to 256"},
      {"device twice", [](ProgramTable& p, const std::string&) { p.second.name = "first"; },
       "KEY_DUPLICATE", "plugin test.program 1.0.0: device \"first\" is offered twice"},
      {"id", [](ProgramTable& p, const std::string&) { p.table.id = "Program"; }, "ID_MISMATCH",
       "the program's plugin: id is \"Program\", expected vendor.name in lower-case letters, "
       "digits, '.' and '-', at most 64 bytes"}};
  for (const Bad& one : bad) {
    ProgramTable program;
    one.spoil(program, long_key);

    const auto plugin = adopt_plugin(ProgramTable::query, core_info());

    ASSERT_FALSE(plugin.ok()) << one.what;
    EXPECT_EQ(plugin.error().code, Code::malformed) << one.what;
    EXPECT_EQ(plugin.error().reason, one.reason);
    EXPECT_EQ(plugin.error().message, one.message);
  }
}

TEST(ManifestOf, ListsTheKeysAndDevicesOfTheTable) {
  World world;
  world.add("good", "good");
  const auto plugin = open_plugin(world.manifest("good"), core_info());
  ASSERT_TRUE(plugin.ok()) << plugin.error().message;

  const Manifest manifest = manifest_of(**plugin);

  EXPECT_EQ(manifest.title(), "Fake (test.fake 1.0.0)");
  EXPECT_NE(manifest.key_for("fake"), nullptr);
  EXPECT_EQ(manifest.devices[0].name, "fake_device");
}

TEST(AdoptPlugin, RejectsListsOverTheirLimit) {
  for (const bool more : {false, true}) {
    ProgramTable loaders, devices;
    loaders.table.loader_count = kMaxLoaders + (more ? 1 : 0);
    loaders.table.loaders = nullptr;
    ProgramTable::newest = &loaders;
    EXPECT_EQ(adopt_plugin(ProgramTable::query, core_info()).error().reason,
              more ? "TABLE_LIMIT" : "FUNCTION_MISSING");
    devices.table.device_count = kMaxDevices + (more ? 1 : 0);
    devices.table.devices = nullptr;
    ProgramTable::newest = &devices;
    EXPECT_EQ(adopt_plugin(ProgramTable::query, core_info()).error().reason,
              more ? "TABLE_LIMIT" : "FUNCTION_MISSING");
  }
}

TEST(AdoptPlugin, AcceptsALargerTableAndRejectsSizesThatAreNone) {
  const std::uint32_t size = sizeof(gantry_plugin_table);
  const std::pair<std::uint32_t, std::string> sizes[] = {
      {size + 8, ""},
      {size - 8, concat("has struct_size ", size - 8, ", minimum is ", size, " (ABI 1.0)")},
      {0, concat("has struct_size 0, minimum is ", size, " (ABI 1.0)")},
      {1u << 31, "has struct_size 2147483648, maximum is 65536"}};
  for (const auto& [given, text] : sizes) {
    ProgramTable program;
    program.table.struct_size = given;

    const auto plugin = adopt_plugin(ProgramTable::query, core_info());

    ASSERT_EQ(plugin.ok(), text.empty()) << given;
    if (plugin.ok()) continue;
    EXPECT_EQ(plugin.error().code, Code::malformed);
    EXPECT_EQ(plugin.error().reason, "STRUCT_SIZE");
    EXPECT_EQ(plugin.error().message, "the program's plugin: gantry_plugin_table " + text);
  }
}

// The sizes belong to minor versions of both sides.
TEST(OpenPlugin, StatesBothVersionsIfATableIsTooSmall) {
  World world;
  world.add("short", "short_table");
  gantry_host_info core = core_info();
  core.abi.max_minor = 3;

  const auto plugin = open_plugin(world.manifest("short"), core);

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().reason, "STRUCT_SIZE");
  EXPECT_THAT(plugin.error().message,
              EndsWith("\n  plugin test.fake 1.0.0 supports ABI 1.0, this core supports 1.0-1.3"));
}

// A core of a later minor has larger structs.
TEST(OpenPlugin, StatesThatAPluginMustAcceptALargerHost) {
  World world;
  world.add("equal", "query_compares_sizes");
  struct {
    gantry_host_info info = core_info();
    std::uint64_t later = 0;
  } future;
  future.info.struct_size = sizeof future;
  ASSERT_TRUE(open_plugin(world.manifest("equal"), core_info()).ok());

  const auto plugin = open_plugin(world.manifest("equal"), future.info);

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().reason, "STRUCT_SIZE");
  EXPECT_EQ(plugin.error().message,
            concat("fake: another size of gantry_host_info\n  gantry_host_info of this core has ",
                   sizeof future,
                   " bytes; a plugin accepts structs that are larger than its own (HOST-1 in "
                   "ABI.md): install another version of it\n  plugin test.fake 1.0.0 supports ABI "
                   "1.0, this core supports 1.0"));
}

TEST(AdoptPlugin, LimitsTheLengthOfADeviceName) {
  for (const std::size_t size : {256u, 257u}) {
    ProgramTable program;
    const std::string name(size, 'd');
    program.first.name = name.c_str();

    const auto plugin = adopt_plugin(ProgramTable::query, core_info());

    EXPECT_EQ(plugin.ok() ? "" : plugin.error().reason, size == 256 ? "" : "TABLE_LIMIT");
  }
}

TEST(ManifestOf, HasTheTextsAndNumbersOfTheTable) {
  ProgramTable program;
  program.table.vendor = "ACME";
  program.table.license = "MIT";
  program.table.abi = {1, 0, 3, 0};
  program.first.type = 7;

  const Manifest manifest = manifest_of(**adopt_plugin(ProgramTable::query, core_info()));

  EXPECT_EQ(manifest.vendor, "ACME");
  EXPECT_EQ(manifest.license, "MIT");
  EXPECT_EQ(manifest.abi.major, 1u);
  EXPECT_EQ(manifest.abi.min_minor, 0u);
  EXPECT_EQ(manifest.abi.max_minor, 3u);
  EXPECT_EQ(manifest.devices[0].dlpack, 7);
}

}  // namespace
}  // namespace gantry
