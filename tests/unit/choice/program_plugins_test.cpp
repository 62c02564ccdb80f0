// SPDX-License-Identifier: Apache-2.0
//
// Plugins of the program that are added while a set is in use.
#include "core/plugins/choice/plugin_set.hpp"

#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace gantry {
namespace {

using test::core_info;
using test::fake_manifest;
using test::ManifestBuilder;
using test::World;
using ::testing::HasSubstr;

using Query = decltype(&gantry_plugin_query_v1);

constexpr std::size_t kTables = 16;
constexpr std::array<const char*, kTables> kIds = {"test.fake", "test.p01", "test.p02", "test.p03",
                                                   "test.p04",  "test.p05", "test.p06", "test.p07",
                                                   "test.p08",  "test.p09", "test.p10", "test.p11",
                                                   "test.p12",  "test.p13", "test.p14", "test.p15"};

// A plugin of the program with the id kIds[N]; number 0 serves "fake", the others nothing.
template <std::size_t N>
const gantry_plugin_table* query(const gantry_host_info*, gantry_status*) {
  static const gantry_loader_table loader = [] {
    gantry_loader_table t{};
    t.struct_size = sizeof t;
    t.type_key = "fake";
    t.load_binary = [](void*, const gantry_blob*, gantry_object*, gantry_module*, std::uint64_t*,
                       gantry_status*) -> gantry_code { return GANTRY_UNSUPPORTED; };
    return t;
  }();
  static const gantry_loader_table* const loaders[] = {&loader};
  static const gantry_plugin_table table = [] {
    gantry_plugin_table t{};
    t.struct_size = sizeof t;
    t.abi = {1, 0, 0, 0};
    t.id = kIds[N];
    t.version = "9.0.0";
    t.loaders = loaders;
    t.loader_count = N == 0 ? 1 : 0;
    t.create = [](const gantry_host*, void** self, gantry_status*) -> gantry_code {
      *self = nullptr;
      return GANTRY_OK;
    };
    t.destroy = [](void*) {};
    return t;
  }();
  return &table;
}
template <std::size_t... N>
constexpr std::array<Query, kTables> all_queries(std::index_sequence<N...>) {
  return {query<N>...};
}
constexpr std::array<Query, kTables> kQueries = all_queries(std::make_index_sequence<kTables>());

// A set in which the creation of the plugin with the id `fails` fails.
struct Fixture {
  explicit Fixture(const World& world)
      : log(LogLevel::warning, [this](LogLevel, std::string_view) { on_warning(); }),
        plugins(world.search(), options()) {}

  ChoiceOptions options() {
    ChoiceOptions all;
    all.core = core_info();
    all.log = &log;
    all.create = [this](const std::shared_ptr<const LoadedPlugin>& plugin,
                        const Manifest&) -> Result<std::shared_ptr<void>> {
      on_create();
      if (plugin->id == fails) return unavailable("no device on this machine");
      return std::make_shared<int>(7);
    };
    return all;
  }

  std::function<void()> on_warning = [] {}, on_create = [] {};
  std::string fails;
  Log log;
  PluginSet plugins;
};

// The warning is logged between two attempts, while the set is not locked.
TEST(ProgramPlugins, DoNotChangeTheNextChoiceIfAddedBetweenAttempts) {
  World world;
  world.add("bystander", "", ManifestBuilder().id("test.bystander").key("other"));
  world.add("good", "good");
  world.add("second", "second", fake_manifest().id("test.second").version("2.0.0"));
  Fixture fixture(world);
  fixture.fails = "test.second";
  fixture.on_warning = [&] { EXPECT_TRUE(fixture.plugins.add_program_plugin(kQueries[1]).ok()); };

  const auto active = fixture.plugins.for_key("fake");

  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ((*active)->plugin->id, "test.fake");
  EXPECT_EQ((*active)->plugin->version.text, "1.0.0");
}

TEST(ProgramPlugins, ReplaceTheNextChoiceOfTheSameId) {
  World world;
  world.add("good", "good");
  world.add("second", "second", fake_manifest().id("test.second").version("2.0.0"));
  Fixture fixture(world);
  fixture.fails = "test.second";
  int added = 0;
  fixture.on_warning = [&] { added += fixture.plugins.add_program_plugin(kQueries[0]).ok(); };

  const auto active = fixture.plugins.for_key("fake");

  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ(added, 1);
  EXPECT_EQ((*active)->plugin->version.text, "9.0.0");
}

TEST(ProgramPlugins, AreRejectedIfTheirIdIsInUse) {
  World world;
  world.add("good", "good");
  Fixture fixture(world);
  Status while_created;
  fixture.on_create = [&] { while_created = fixture.plugins.add_program_plugin(kQueries[0]); };
  ASSERT_TRUE(fixture.plugins.for_key("fake").ok());

  const Status afterwards = fixture.plugins.add_program_plugin(kQueries[0]);

  for (const Status& late : {while_created, afterwards}) {
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, Code::invalid);
    EXPECT_EQ(late.error().message,
              "plugin test.fake 1.0.0 is already in use and cannot be replaced by a plugin of the "
              "program");
  }
}

TEST(ProgramPlugins, ReplaceAPluginThatFailedToOpen) {
  World world;
  world.add("good", "good");
  Fixture fixture(world);
  fixture.fails = "test.fake";
  ASSERT_FALSE(fixture.plugins.for_key("fake").ok());
  fixture.fails.clear();

  ASSERT_TRUE(fixture.plugins.add_program_plugin(kQueries[0]).ok());

  EXPECT_EQ(fixture.plugins.choices_for_key("fake").size(), 1u);
  EXPECT_EQ((*fixture.plugins.for_key("fake"))->plugin->version.text, "9.0.0");
}

// All threads receive the same plugin for the key, that of the file or that of the program.
TEST(ProgramPlugins, MayBeAddedWhileOtherThreadsRequestPlugins) {
  for (int round = 0; round < 10; ++round) {
    World world;
    world.add("a", "", ManifestBuilder().id("test.a").key("other"));
    world.add("good", "good");
    Fixture fixture(world);
    std::atomic<bool> go{false};
    std::array<Result<std::shared_ptr<const ActivePlugin>>, 4> active = {
        not_found(""), not_found(""), not_found(""), not_found("")};
    std::vector<std::thread> threads;
    for (auto& mine : active) {
      threads.emplace_back([&] {
        while (!go) std::this_thread::yield();
        mine = fixture.plugins.for_key("fake");
        (void)fixture.plugins.candidates();
      });
    }
    std::atomic<int> refused{0};
    threads.emplace_back([&] {
      go = true;
      for (std::size_t i = kTables; i-- > 0;) {
        if (!fixture.plugins.add_program_plugin(kQueries[i]).ok()) ++refused;
      }
    });
    for (std::thread& thread : threads) thread.join();

    // only the plugin whose id is in use
    EXPECT_LE(refused, 1);
    for (const auto& mine : active) {
      ASSERT_TRUE(mine.ok()) << mine.error().message;
      EXPECT_EQ((*mine)->plugin->id, "test.fake");
      EXPECT_EQ(*mine, *active[0]);
    }
  }
}

}  // namespace
}  // namespace gantry
