// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/plugin_set.hpp"

#include "tests/support/file_holder.hpp"
#include "tests/unit/choice/set_fixture.hpp"

#include <gmock/gmock.h>

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace gantry {
namespace {

using test::core_info;
using test::fake_manifest;
using test::ids;
using test::ManifestBuilder;
using test::second;
using test::SetFixture;
using test::World;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PluginSet, OpensPluginsOnRequestOnly) {
  World world;
  world.add("good", "good");
  SetFixture fixture(world);

  EXPECT_THAT(fixture.created, IsEmpty());
  EXPECT_EQ(fixture.plugins.candidates()[0].passed, Step::preferred);
  const auto active = fixture.plugins.for_key("fake");

  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ((*active)->plugin->id, "test.fake");
  EXPECT_EQ(*std::static_pointer_cast<int>((*active)->instance), 7);
  EXPECT_EQ(fixture.plugins.candidates()[0].passed, Step::created);
}

TEST(PluginSet, LogsWarningsOfManifestsOnceWhenItIsCreated) {
  const auto newer = [](std::string_view id) {
    return fake_manifest().id(id).schema("1.1").line("schema_min: \"1.0\"\nnew_thing: 1");
  };
  World world;
  world.add("a", "", newer("test.a"));
  world.add("b", "", newer("test.b"));
  const auto unknown_key = [](std::string_view file) {
    return HasSubstr(concat(file, ":9:1: new_thing: unknown key"));
  };

  SetFixture fixture(world);

  EXPECT_THAT(fixture.lines, ElementsAre(unknown_key("a/a.yaml"), unknown_key("b/b.yaml")));
  EXPECT_THAT(fixture.plugins.warnings(), ElementsAreArray(fixture.lines));
  EXPECT_EQ(fixture.plugins.choices_for_key("fake").size(), 2u);
  EXPECT_EQ(fixture.lines.size(), 2u);
}

TEST(PluginSet, LogsWarningsAboutAPluginWhenItIsOpened) {
  World world;
  world.add("good", "good", ManifestBuilder().device("fake_device"));
  SetFixture fixture(world);
  ASSERT_THAT(fixture.lines, IsEmpty());

  ASSERT_TRUE(fixture.plugins.for_device("fake_device").ok());
  EXPECT_TRUE(fixture.plugins.for_device("fake_device").ok());

  EXPECT_THAT(fixture.lines, ElementsAre(HasSubstr("does not offer type key \"fake\"")));
}

TEST(PluginSet, CreatesAPluginOnceForAllRequests) {
  World world;
  world.add("good", "good");
  SetFixture fixture(world);

  const auto key = fixture.plugins.for_key("fake");
  const auto device = fixture.plugins.for_device("fake_device");
  const auto by_id = fixture.plugins.open("test.fake");

  ASSERT_TRUE(key.ok() && device.ok() && by_id.ok());
  EXPECT_EQ(*key, *device);
  EXPECT_EQ(*key, *by_id);
  EXPECT_THAT(fixture.created, ElementsAre("test.fake"));
}

TEST(PluginSet, DestroysPluginsInTheReverseOrderOfTheirCreation) {
  World world;
  world.add("a", "good");
  world.add("b", "second", second());
  for (const auto& [first, last] :
       {std::pair("test.fake", "test.second"), std::pair("test.second", "test.fake")}) {
    std::vector<std::string> destroyed;
    {
      ChoiceOptions options;
      options.core = test::core_info();
      options.create = [&](const std::shared_ptr<const LoadedPlugin>& plugin,
                           const Manifest&) -> Result<std::shared_ptr<void>> {
        const auto note = [id = plugin->id](std::vector<std::string>* all) { all->push_back(id); };
        return std::shared_ptr<void>(&destroyed, note);
      };
      PluginSet plugins(world.search(), std::move(options));
      ASSERT_TRUE(plugins.open(first).ok());
      ASSERT_TRUE(plugins.open(last).ok());
    }

    EXPECT_THAT(destroyed, ElementsAre(last, first));
  }
}

// A request begins with the first plugin again, also after a fallback.
TEST(PluginSet, TriesEachPluginInItsOrderForEachRequest) {
  World world;
  world.add("good", "good");
  world.add("second", "create_fails", second());
  SetFixture fixture(world);

  const auto by_key = fixture.plugins.for_key("fake");
  const auto by_device = fixture.plugins.for_device("fake_device");

  ASSERT_TRUE(by_key.ok() && by_device.ok());
  EXPECT_EQ((*by_device)->plugin->id, "test.fake");
  EXPECT_THAT(fixture.created, ElementsAre("test.second", "test.fake", "test.second"));
  EXPECT_EQ(fixture.plugins.fallbacks(), 2u);
}

TEST(PluginSet, TriesTheNextPluginWithOneWarning) {
  World world;
  world.add("good", "good");
  world.add("second", "create_fails", second());
  SetFixture fixture(world);

  const auto active = fixture.plugins.for_key("fake");

  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ((*active)->plugin->id, "test.fake");
  EXPECT_THAT(fixture.lines,
              ElementsAre("plugin test.second 2.0.0 cannot serve type key \"fake\", trying "
                          "test.fake 1.0.0: no device "
                          "on this machine\n  while creating plugin test.second 2.0.0"));
  const Candidate failed = fixture.plugins.candidates()[1];
  EXPECT_EQ(failed.passed, Step::opened);
  EXPECT_EQ(failed.reason, reason::create_failed);
  EXPECT_EQ(fixture.plugins.fallbacks(), 1u);
}

// Hosts with libraries of two architectures are usual.
TEST(PluginSet, LogsAtInfoThatALibraryIsForAnotherMachine) {
  for (const std::size_t at : {std::size_t{4}, std::size_t{18}}) {
    World world;
    world.add("good", "good");
    world.add("second", "second", second());
    std::vector<std::uint8_t> bytes = test::read_file(world.library("second"));
    // ELFCLASS32, or e_machine of another machine
    bytes[at] = at == 4 ? 1 : 20;
    std::filesystem::remove(world.library("second"));
    test::write_file(world.library("second"), bytes);
    std::vector<std::string> lines;
    const Log log(LogLevel::info, [&](LogLevel level, std::string_view line) {
      lines.push_back(concat(name_of(level), " ", line));
    });
    ChoiceOptions options;
    options.core = core_info();
    options.log = &log;
    PluginSet plugins(world.search(), options);

    const auto active = plugins.for_key("fake");

    ASSERT_TRUE(active.ok()) << active.error().message;
    EXPECT_EQ((*active)->plugin->id, "test.fake");
    EXPECT_EQ(plugins.candidates()[1].reason, reason::wrong_machine);
    EXPECT_THAT(lines, ElementsAre(testing::StartsWith(
                           "info plugin test.second 2.0.0 cannot serve type key \"fake\", trying "
                           "test.fake 1.0.0: ")));
    EXPECT_EQ(plugins.fallbacks(), 1u);
  }
}

// A missing plugin that is selected by an override must not be replaced by another one.
TEST(PluginSet, FailsIfThePluginOfAnOverrideFails) {
  World world;
  world.add("good", "good");
  world.add("second", "create_fails", second());
  SetFixture fixture(world, {{"fake", "test.second"}});

  const auto active = fixture.plugins.for_key("fake");

  ASSERT_FALSE(active.ok());
  EXPECT_EQ(active.error().code, Code::unavailable);
  EXPECT_EQ(active.error().reason, "CREATE_FAILED");
  EXPECT_EQ(active.error().message,
            "no device on this machine\n  while creating plugin test.second 2.0.0\n  type key "
            "\"fake\" is overridden to "
            "this plugin, no other is tried");
  EXPECT_THAT(fixture.created, ElementsAre("test.second"));
  EXPECT_THAT(fixture.lines, IsEmpty());
  EXPECT_EQ(fixture.plugins.fallbacks(), 0u);
}

TEST(PluginSet, ReportsAnOverrideThatMatchesNoPlugin) {
  World world;
  world.add("good", "good");
  SetFixture fixture(world, {{"fake", "test.absent"}});

  const auto active = fixture.plugins.for_key("fake");

  ASSERT_FALSE(active.ok());
  EXPECT_EQ(active.error().reason, "PIN_UNSERVED");
  EXPECT_EQ(
      active.error().message,
      "type key \"fake\" is overridden to plugin test.absent, which is not installed or does not "
      "offer it");
}

TEST(PluginSet, ReportsThatNoPluginOffersAKey) {
  SetFixture fixture{World()};

  const auto active = fixture.plugins.for_key("fake");

  ASSERT_FALSE(active.ok());
  EXPECT_EQ(active.error().code, Code::unavailable);
  EXPECT_EQ(active.error().reason, "NO_PLUGIN");
  EXPECT_EQ(active.error().message, "no plugin offers type key \"fake\"");
  EXPECT_EQ(fixture.plugins.open("test.fake").error().message,
            "plugin \"test.fake\" not found among the usable ones");
}

// A device that one process at a time may use. The driver reports only that it is not available.
TEST(PluginSet, NamesTheProcessThatHasTheDeviceOpen) {
  World world;
  const std::string lock = (world.path() / "npu.lock").string();
  test::write_file(lock, std::string_view("x"));
  world.add("second", "create_fails",
            second().set("requires", concat("{files: [", lock, "], device_nodes: [", lock, "]}")));
  SetFixture fixture(world);
  const test::FileHolder holder(lock);

  const auto active = fixture.plugins.for_key("fake");

  ASSERT_FALSE(active.ok());
  EXPECT_EQ(active.error().code, Code::unavailable);
  EXPECT_EQ(active.error().reason, "CREATE_FAILED");
  const std::string user =
      concat(lock, " is open in process ", holder.process(), " (", holder.program(), ")\n");
  EXPECT_EQ(active.error().message,
            concat("no device on this machine\n  device node ", user, "  file ", user,
                   "  while creating plugin test.second 2.0.0"));
}

// A failed plugin is tried again, because the cause of the failure may be gone.
TEST(PluginSet, TriesAFailedPluginAgain) {
  World world;
  world.add("good", "", fake_manifest());
  SetFixture fixture(world);
  ASSERT_FALSE(fixture.plugins.for_key("fake").ok());
  EXPECT_EQ(fixture.plugins.candidates()[0].reason, reason::library_missing);

  std::filesystem::copy_file(test::fake_library("good"), world.library("good"));

  EXPECT_TRUE(fixture.plugins.for_key("fake").ok());
  EXPECT_FALSE(fixture.plugins.candidates()[0].stopped());
}

ManifestBuilder version(std::string_view text) { return fake_manifest().version(text); }

TEST(PluginSet, OpensTheNextVersionOfARefusedPluginWithOneWarning) {
  World world;
  const std::string old = world.add("a", "good");
  const std::string bad = world.add("b", "", version("1.1.0"));
  SetFixture fixture(world);

  const auto active = fixture.plugins.for_key("fake");
  const auto again = fixture.plugins.for_device("fake_device");

  ASSERT_TRUE(active.ok()) << active.error().message;
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*active, *again);
  EXPECT_EQ((*active)->manifest.version.text, "1.0.0");
  EXPECT_THAT(fixture.lines, ElementsAre(testing::StartsWith(concat("plugin test.fake 1.1.0 of ",
                                                                    bad, " is refused, 1.0.0 of ",
                                                                    old, " is used instead: "))));
  EXPECT_EQ(fixture.plugins.fallbacks(), 1u);
  EXPECT_EQ(fixture.plugins.candidate(1).passed, Step::trusted);
  EXPECT_EQ(fixture.plugins.candidate(1).reason, reason::library_missing);
}

// By its id, and after an inspection of another request.
TEST(PluginSet, OpensTheNextVersionHoweverThePluginIsRequested) {
  World world;
  world.add("a", "good");
  world.add("b", "", version("1.1.0"));
  SetFixture by_id(world), inspected(world), overridden(world, {{"fake", "test.fake"}}),
      by_index(world);
  inspected.plugins.inspect_all();
  EXPECT_EQ(inspected.plugins.candidate(0).passed, Step::resolved);
  EXPECT_THAT(inspected.lines, IsEmpty());
  EXPECT_EQ(by_index.plugins.usable_for_key("fake", Depth::library), std::size_t{0});

  for (SetFixture* const fixture : {&by_id, &inspected}) {
    const auto active = fixture->plugins.open("test.fake");
    ASSERT_TRUE(active.ok()) << active.error().message;
    EXPECT_EQ((*active)->manifest.version.text, "1.0.0");
    // Once, although the inspection was silent.
    EXPECT_TRUE(fixture->plugins.for_key("fake").ok());
    EXPECT_THAT(fixture->lines, ElementsAre(HasSubstr(" is refused, 1.0.0 of ")));
    EXPECT_EQ(fixture->plugins.fallbacks(), 1u);
  }
  EXPECT_TRUE(overridden.plugins.for_key("fake").ok());
  EXPECT_TRUE(by_index.plugins.open(std::size_t{0}).ok());
}

// Reports have replaced it twice: the library of the second was removed between them.
TEST(PluginSet, WarnsOfAllVersionsThatReportsHaveReplaced) {
  World world;
  world.add("a", "good");
  world.add("b", "newer", version("1.1.0"));
  world.add("c", "", version("1.2.0"));
  SetFixture fixture(world);
  fixture.plugins.inspect_all();
  ASSERT_EQ(fixture.plugins.candidate(1).passed, Step::resolved);
  std::filesystem::remove(world.library("b"));
  fixture.plugins.inspect_all();
  ASSERT_EQ(fixture.plugins.candidate(0).passed, Step::resolved);
  EXPECT_THAT(fixture.lines, IsEmpty());

  EXPECT_TRUE(fixture.plugins.for_key("fake").ok());

  EXPECT_THAT(fixture.lines, ElementsAre(testing::ContainsRegex("^plugin test.fake 1.2.0 of .* is "
                                                                "refused, 1.0.0 of "),
                                         testing::ContainsRegex("^plugin test.fake 1.1.0 of .* is "
                                                                "refused, 1.0.0 of ")));
}

// Of the versions that are not needed no library is opened: one would be refused.
TEST(PluginSet, InspectsAnotherVersionOnlyIfTheFirstIsRefused) {
  World world;
  world.add("a", "", version("0.9.0"));
  world.add("b", "good");
  world.add("c", "", version("1.1.0"));
  SetFixture fixture(world);

  ASSERT_TRUE(fixture.plugins.for_key("fake").ok());

  EXPECT_EQ(fixture.plugins.candidate(0).reason, reason::shadowed_by);
}

// The older version does not offer what is requested, and is not opened for it.
TEST(PluginSet, DoesNotOpenTheNextVersionForAKeyThatItLacks) {
  World world;
  world.add("a", "good");
  world.add("b", "", version("1.1.0").line("globals: [fake.run]"));
  SetFixture fixture(world);
  ASSERT_EQ(fixture.plugins.choices_for_global("fake.run").size(), 1u);

  EXPECT_FALSE(fixture.plugins.usable_for_key("none", Depth::library).has_value());
  const auto device = fixture.plugins.for_device("fake_device");

  EXPECT_TRUE(device.ok()) << device.error().message;
  EXPECT_THAT(fixture.plugins.choices_for_global("fake.run"), IsEmpty());
}

// `plugins.fallback` is about other plugins.
TEST(PluginSet, OpensTheNextVersionWithoutFallback) {
  World world;
  world.add("a", "good");
  world.add("b", "", version("1.1.0"));
  ChoiceOptions options;
  options.core = core_info();
  options.fallback = false;
  PluginSet plugins(world.search(), options);

  const auto active = plugins.for_key("fake");

  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ((*active)->manifest.version.text, "1.0.0");
}

// The next version has the place of its priority among the plugins that offer the key.
TEST(PluginSet, ChoosesAmongAllPluginsAfterARefusal) {
  World world;
  world.add("a", "good", version("1.0.0").line("priority: -1"));
  world.add("b", "", version("1.1.0").line("priority: 3"));
  world.add("second", "second", second());
  SetFixture fixture(world);

  const auto active = fixture.plugins.for_key("fake");

  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ((*active)->plugin->id, "test.second");
  EXPECT_THAT(ids(fixture.plugins, fixture.plugins.choices_for_key("fake")),
              ElementsAre("test.second", "test.fake"));
}

// All versions are refused; the cause may be gone at the next request.
TEST(PluginSet, TriesTheFirstVersionAgainIfNoneCanBeUsed) {
  World world;
  world.add("a", "");
  world.add("b", "", version("1.1.0"));
  SetFixture fixture(world);
  const auto active = fixture.plugins.for_key("fake");
  ASSERT_FALSE(active.ok());
  EXPECT_THAT(active.error().message, HasSubstr("b/libfake.so"));
  EXPECT_THAT(fixture.lines, IsEmpty());

  std::filesystem::copy_file(test::fake_library("newer"), world.library("b"));

  const auto later = fixture.plugins.for_key("fake");
  ASSERT_TRUE(later.ok()) << later.error().message;
  EXPECT_EQ((*later)->manifest.version.text, "1.1.0");
}

// The code of the newer version has run in this process.
TEST(PluginSet, DoesNotOpenAnotherVersionBesideOneThatFailedWhenItRan) {
  World world;
  world.add("a", "second", second().version("1.0.0"));
  world.add("b", "create_fails", second());
  SetFixture fixture(world);

  const auto active = fixture.plugins.for_key("fake");

  ASSERT_FALSE(active.ok());
  EXPECT_EQ(active.error().reason, "CREATE_FAILED");
  EXPECT_EQ(fixture.plugins.candidate(0).reason, reason::shadowed_by);
}

TEST(PluginSet, OpensTheNextVersionInAllThreads) {
  World world;
  world.add("a", "good");
  world.add("b", "", version("1.1.0"));
  SetFixture fixture(world);
  std::vector<std::shared_ptr<const ActivePlugin>> seen(8);
  std::vector<std::thread> threads;

  for (auto& location : seen) {
    threads.emplace_back([&] {
      if (auto active = fixture.plugins.for_key("fake"); active.ok()) location = *active;
    });
  }
  for (std::thread& thread : threads) thread.join();

  ASSERT_NE(seen[0], nullptr);
  EXPECT_THAT(seen, testing::Each(seen[0]));
  EXPECT_THAT(fixture.created, ElementsAre("test.fake"));
}

// The dependencies of a library are not inspected before it is opened. The error names the library
// that needs the missing one and the directories that were searched.
TEST(PluginSet, ExplainsWhyALibraryCannotBeOpened) {
  World world;
  world.add("x", "missing_dependency");
  SetFixture fixture(world);
  EXPECT_TRUE(fixture.plugins.usable_for_key("fake", Depth::library).has_value());
  EXPECT_FALSE(fixture.plugins.candidates()[0].stopped());

  const auto active = fixture.plugins.for_key("fake");

  ASSERT_FALSE(active.ok());
  EXPECT_EQ(active.error().reason, "LIB_NEEDED_MISSING");
  EXPECT_THAT(active.error().message,
              testing::StartsWith(concat("libfake_dependency.so.4 is not found, needed by "
                                         "libfake.so; searched $ORIGIN=",
                                         (world.path() / "x").string(), ", the linker's cache, ")));
  EXPECT_THAT(active.error().message, HasSubstr("\n  linker message: "));
  EXPECT_EQ(fixture.plugins.candidates()[0].reason, reason::lib_needed_missing);
  EXPECT_THAT(fixture.plugins.served_keys(), IsEmpty());
}

TEST(PluginSet, DoesNotOpenAFilteredPlugin) {
  World world;
  world.add("good", "good");
  SetFixture fixture(world, {}, {{"test.*", false, "GANTRY_DISABLE"}});

  EXPECT_FALSE(fixture.plugins.open("test.fake").ok());
}

TEST(PluginSet, ReturnsOneInstanceToAllThreads) {
  World world;
  world.add("good", "good");
  SetFixture fixture(world);
  std::vector<std::shared_ptr<const ActivePlugin>> seen(8);
  std::vector<std::thread> threads;

  for (auto& location : seen) {
    threads.emplace_back([&] { location = fixture.plugins.for_key("fake").value(); });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(seen, testing::Each(seen[0]));
  EXPECT_THAT(fixture.created, ElementsAre("test.fake"));
}

TEST(PluginSet, RejectsAPluginThatRequestsItselfDuringCreation) {
  World world;
  world.add("good", "good");
  const SearchResult found = world.search();
  PluginSet* self = nullptr;
  ChoiceOptions options;
  options.core = core_info();
  options.create = [&](const std::shared_ptr<const LoadedPlugin>&,
                       const Manifest&) -> Result<std::shared_ptr<void>> {
    GANTRY_CHECK(self->for_key("fake"));
    return std::shared_ptr<void>();
  };
  PluginSet plugins(found, options);
  self = &plugins;

  const auto active = plugins.for_key("fake");

  ASSERT_FALSE(active.ok());
  EXPECT_EQ(active.error().code, Code::bug);
  EXPECT_THAT(active.error().message,
              HasSubstr("plugin test.fake 1.0.0 requests itself while it is being created"));
}

// A plugin that is part of the program, with a valid table.
gantry_code create(const gantry_host*, void** self, gantry_status*) {
  *self = nullptr;
  return GANTRY_OK;
}
void destroy(void*) {}
gantry_code load_binary(void*, const gantry_blob*, gantry_object*, gantry_module*, uint64_t*,
                        gantry_status*) {
  return GANTRY_UNSUPPORTED;
}
const gantry_plugin_table* program_plugin(const gantry_host_info*, gantry_status*) {
  static const gantry_loader_table loader = [] {
    gantry_loader_table t{};
    t.struct_size = sizeof t;
    t.type_key = "fake";
    t.load_binary = load_binary;
    return t;
  }();
  static const gantry_loader_table* const loaders[] = {&loader};
  static const gantry_plugin_table table = [] {
    gantry_plugin_table t{};
    t.struct_size = sizeof t;
    t.abi = {1, 0, 0, 0};
    t.id = "test.fake";
    t.version = "9.0.0";
    t.loaders = loaders;
    t.loader_count = 1;
    t.create = create;
    t.destroy = destroy;
    return t;
  }();
  return &table;
}

TEST(PluginSet, PrefersPluginsOfTheProgram) {
  World world;
  world.add("good", "good");
  SetFixture fixture(world);

  ASSERT_TRUE(fixture.plugins.add_program_plugin(program_plugin).ok());

  const auto active = fixture.plugins.for_key("fake");
  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ((*active)->plugin->version.text, "9.0.0");
  EXPECT_EQ(fixture.plugins.candidates()[0].reason, reason::shadowed_by);
  EXPECT_EQ(fixture.plugins.candidates()[0].text, "same id as test.fake 9.0.0 of the program");
  EXPECT_EQ(fixture.plugins.candidates()[1].file, "(program)");
  EXPECT_EQ(fixture.plugins.candidates()[1].location_name, "the program");
  const Status again = fixture.plugins.add_program_plugin(program_plugin);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message, "plugin test.fake is already part of the program");
}

TEST(PluginSet, OpensThePluginWithTheId) {
  World world;
  world.add("good", "good");
  world.add("second", "second", second());
  SetFixture fixture(world);

  const auto active = fixture.plugins.open("test.second");

  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ((*active)->plugin->id, "test.second");
  EXPECT_EQ((*active)->manifest.id, "test.second");
  EXPECT_THAT(fixture.created, ElementsAre("test.second"));
}

// The constructor of one plugin loads a library, while other threads load plugins and libraries.
TEST(PluginSet, OpensAPluginWhoseConstructorLoadsALibrary) {
  World world;
  world.add("a", "constructor_opens");
  world.add("b", "second", second());
  SetFixture fixture(world);
  std::atomic<bool> stop = false;
  Result<std::shared_ptr<const ActivePlugin>> first = invalid("not opened"),
                                              other = invalid("not opened");
  // A deadlock ends the test.
  ::alarm(60);

  std::thread loads([&] {
    while (!stop) {
      void* const handle = ::dlopen("libanl.so.1", RTLD_NOW);
      if (handle != nullptr) ::dlclose(handle);
    }
  });
  std::thread opens([&] { other = fixture.plugins.open("test.second"); });
  first = fixture.plugins.open("test.fake");
  opens.join();
  stop = true;
  loads.join();

  ::alarm(0);
  EXPECT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE(other.ok()) << other.error().message;
}

// The second thread requests the plugin while the first one creates it.
TEST(PluginSet, WaitsForAPluginThatAnotherThreadCreates) {
  World world;
  world.add("good", "good");
  std::atomic<int> created = 0;
  std::atomic<bool> may_end = false;
  ChoiceOptions options;
  options.core = core_info();
  options.create = [&](const std::shared_ptr<const LoadedPlugin>&,
                       const Manifest&) -> Result<std::shared_ptr<void>> {
    ++created;
    while (!may_end) std::this_thread::yield();
    return std::make_shared<int>(7);
  };
  PluginSet plugins(world.search(), options);
  std::shared_ptr<const ActivePlugin> first, other;
  std::thread creates([&] { first = plugins.for_key("fake").value(); });
  while (created == 0) std::this_thread::yield();
  std::thread waits([&] {
    const auto active = plugins.for_key("fake");
    EXPECT_TRUE(active.ok()) << active.error().message;
    if (active.ok()) other = *active;
  });
  // time in which a second creation would begin
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  may_end = true;
  creates.join();
  waits.join();

  EXPECT_EQ(created, 1);
  EXPECT_EQ(first, other);
}

}  // namespace
}  // namespace gantry
