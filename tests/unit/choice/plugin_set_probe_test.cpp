// SPDX-License-Identifier: Apache-2.0
//
// Sets that open plugins with gantry-probe first.
#include "core/plugins/choice/explain.hpp"
#include "tests/unit/choice/set_fixture.hpp"
#include "tests/unit/probe/probe_world.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::core_info;
using test::fake_manifest;
using test::ManifestBuilder;
using test::second;
using test::SetFixture;
using test::TempDir;
using test::World;
using ::testing::HasSubstr;

ManifestBuilder probed(const ManifestBuilder& manifest = fake_manifest()) {
  return ManifestBuilder(manifest).line("probe: always");
}

// A set of a world's plugins, with gantry-probe and a cache of its own.
struct ProbedSet {
  explicit ProbedSet(const World& world)
      : log(LogLevel::info, [this](LogLevel, std::string_view line) { lines.emplace_back(line); }),
        prober(prober_options()),
        plugins(world.search(), options()) {}

  ProberOptions prober_options() {
    ProberOptions all;
    all.program = {test::built_probe(), {}};
    all.cache_directory = (cache / "gantry").string();
    all.memory_bytes = test::kProbeMemory;
    all.core = core_info();
    all.environment = [](const Manifest&) { return ProbeEnvironment{{"LC_ALL=C"}, {}}; };
    all.plugin_options = [](const Manifest&) { return digest_of({}); };
    all.log = &log;
    return all;
  }
  ChoiceOptions options() {
    ChoiceOptions all;
    all.core = core_info();
    all.prober = &prober;
    all.create = [this](const std::shared_ptr<const LoadedPlugin>&,
                        const Manifest&) -> Result<std::shared_ptr<void>> {
      if (create_fails) return unavailable("no device").with_reason("NO_DEVICE");
      return std::make_shared<int>(7);
    };
    return all;
  }
  // "plugin test.fake 1.0.0 was probed in 12 ms": how often a plugin was.
  std::size_t probes_of(std::string_view id) const {
    return static_cast<std::size_t>(std::ranges::count_if(lines, [&](const std::string& line) {
      return line.starts_with(concat("plugin ", id, " ")) &&
             line.find(" was probed in ") != std::string::npos;
    }));
  }

  TempDir cache;
  std::vector<std::string> lines;
  Log log;
  Prober prober;
  bool create_fails = false;
  PluginSet plugins;
};

TEST(PluginSetProbe, IsMadeOnceBeforeAPluginIsOpened) {
  World world;
  world.add("good", "good", probed());
  ProbedSet set(world);

  ASSERT_TRUE(set.plugins.for_key("fake").ok());
  ASSERT_TRUE(set.plugins.for_key("fake").ok());

  EXPECT_EQ(set.probes_of("test.fake"), 1u);
  EXPECT_TRUE(set.plugins.candidates()[0].probe.has_value());
  EXPECT_EQ(set.plugins.candidates()[0].passed, Step::created);
}

TEST(PluginSetProbe, ThatFailsKeepsThePluginOutOfThisProcess) {
  World world;
  // A constructor of the library would end this process.
  world.add_noted("bad", "constructor_exits", probed(second()));
  ProbedSet set(world);

  const auto active = set.plugins.for_key("fake");

  ASSERT_FALSE(active.ok());
  EXPECT_EQ(active.error().reason, "PROBE_EXITED");
  EXPECT_EQ(set.plugins.candidates()[0].reason, reason::probe_exited);
  EXPECT_EQ(set.plugins.candidates()[0].passed, Step::resolved);
  EXPECT_TRUE(set.prober.cached(set.plugins.candidates()[0]).has_value());
}

TEST(PluginSetProbe, ThatFailsLeavesOtherPlugins) {
  World world;
  world.add_noted("bad", "constructor_exits", probed(second()));
  world.add("good", "good", probed());
  ProbedSet set(world);

  const auto active = set.plugins.for_key("fake");

  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ((*active)->plugin->id, "test.fake");
  EXPECT_EQ(set.probes_of("test.second"), 1u);
  EXPECT_EQ(set.probes_of("test.fake"), 1u);
}

TEST(PluginSetProbe, ThatFailsLeavesTheNextVersion) {
  World world;
  world.add("a", "good", probed());
  world.add_noted("b", "constructor_exits", probed(fake_manifest().version("1.1.0")));
  ProbedSet set(world);

  const auto active = set.plugins.for_key("fake");

  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ((*active)->manifest.version.text, "1.0.0");
  EXPECT_EQ(set.plugins.candidate(1).reason, reason::probe_exited);

  // The kept verdict has the same effect in reports of a later process.
  PluginSet later(world.search(), set.options());
  later.inspect_all();
  ASSERT_EQ(later.candidate(0).reason, reason::shadowed_by);
  later.note_probes();
  EXPECT_EQ(later.candidate(1).reason, reason::probe_exited);
  EXPECT_FALSE(later.candidate(0).stopped());
  EXPECT_TRUE(later.candidate(0).probe.has_value());
}

// The cause is the state of the host.
TEST(PluginSetProbe, ThatCannotRunReplacesNoVersion) {
  World world;
  world.add("a", "good");
  world.add("b", "newer", fake_manifest().version("1.1.0"));
  SetFixture set(world);

  for (const char* const reason :
       {"PROBE_FAILED", "PROBE_MISSING", "EXHAUSTED", "NO_DEVICE_NODE", "FILE_MISSING",
        "DRIVER_MISSING", "DRIVER_TOO_OLD", "LIBRARY_UNREADABLE", "REPLACED_DURING_LOAD",
        "STALE_MAPPED", "CREATE_FAILED", "A_REASON_OF_THE_PLUGIN"}) {
    set.plugins.set_probe(1, unavailable("no probe").with_reason(reason));
    EXPECT_EQ(set.plugins.next_version(1, Depth::library), std::nullopt) << reason;
  }
  set.plugins.set_probe(1, unavailable("it exits").with_reason("PROBE_EXITED"));
  EXPECT_EQ(set.plugins.next_version(1, Depth::library), std::size_t{0});
  // Of one that has been replaced, the one in its place.
  EXPECT_EQ(set.plugins.next_version(1, Depth::library), std::size_t{0});
  EXPECT_EQ(set.plugins.next_version(0, Depth::library), std::nullopt);
}

TEST(PluginSetProbe, OfAPluginThatFailsInThisProcessIsForgotten) {
  World world;
  world.add("good", "good", probed());
  ProbedSet set(world);
  set.create_fails = true;

  EXPECT_FALSE(set.plugins.for_key("fake").ok());

  EXPECT_EQ(set.probes_of("test.fake"), 1u);
  EXPECT_FALSE(set.prober.cached(set.plugins.candidates()[0]).has_value());
  EXPECT_FALSE(set.plugins.candidates()[0].probe.has_value());
}

TEST(PluginSetProbe, OfAPluginThatIsOpenedWithoutOneIsNotForgotten) {
  World world;
  world.add("good", "good");
  ProbedSet set(world);
  set.create_fails = true;
  ASSERT_TRUE(set.prober.probe(set.plugins.candidates()[0]).ok());

  EXPECT_FALSE(set.plugins.for_key("fake").ok());

  EXPECT_TRUE(set.prober.cached(set.plugins.candidates()[0]).has_value());
}

TEST(PluginSetProbe, IsShownBesideItsPlugin) {
  World world;
  world.add("good", "good");
  SetFixture set(world);
  const auto shown = [&](ProbeNote note) {
    set.plugins.set_probe(0, note);
    return to_text(explain(set.plugins, {{"fake", false, {}}}));
  };

  EXPECT_THAT(shown({412, std::nullopt}), HasSubstr("good.yaml  probe 412 ms\n"));
  EXPECT_THAT(shown({412, 119}), HasSubstr("  probe 412 ms (cached 119 s)\n"));
  EXPECT_THAT(shown({412, 180}), HasSubstr("  probe 412 ms (cached 3 min)\n"));
  EXPECT_THAT(shown({412, 7200}), HasSubstr("  probe 412 ms (cached 2 h)\n"));
  EXPECT_THAT(shown({412, 200'000}), HasSubstr("  probe 412 ms (cached 2 d)\n"));
}

TEST(PluginSetProbe, VerdictOfAnEarlierProbeRefusesACandidate) {
  World world;
  world.add("good", "good");
  SetFixture set(world);

  set.plugins.set_probe(0, unavailable("it hangs").with_reason("PROBE_TIMEOUT"));

  EXPECT_THAT(to_text(explain(set.plugins, {{"fake", false, {}}})),
              HasSubstr("GANTRY-D520 PROBE_TIMEOUT  it hangs"));
}

}  // namespace
}  // namespace gantry
