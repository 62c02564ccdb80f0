// SPDX-License-Identifier: Apache-2.0
//
// The set with hooks that stand for a prober; no process is started.
#include "core/plugins/choice/explain.hpp"
#include "tests/unit/choice/set_fixture.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::core_info;
using test::fake_manifest;
using test::second;
using test::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A set whose probes return what `verdicts` has for a plugin, by default that it is not probed.
struct ProbedSet {
  explicit ProbedSet(const World& world) : plugins(world.search(), {}, options()) {}

  PluginSetOptions options() {
    PluginSetOptions all;
    all.core = core_info();
    all.activate = [this](const std::shared_ptr<const LoadedPlugin>& plugin,
                          const Manifest&) -> Result<std::shared_ptr<void>> {
      created.push_back(plugin->id);
      if (create_fails) return unavailable("no device").with_reason("NO_DEVICE");
      return std::make_shared<int>(7);
    };
    all.probe.check = [this](const Candidate& plugin) {
      checked.push_back(plugin.manifest->id);
      return plugin.manifest->id == "test.second"
                 ? Result<std::optional<ProbeNote>>(
                       unavailable("it crashes").with_reason("PROBE_CRASHED"))
                 : Result<std::optional<ProbeNote>>(note);
    };
    all.probe.forget = [this](const Candidate& plugin) {
      forgotten.push_back(plugin.manifest->id);
    };
    return all;
  }

  std::optional<ProbeNote> note = ProbeNote{412, 180};
  bool create_fails = false;
  std::vector<std::string> checked, created, forgotten;
  PluginSet plugins;
};

TEST(PluginSetProbe, IsMadeOnceBeforeAPluginIsOpened) {
  World world;
  world.add("good", "good");
  ProbedSet set(world);

  ASSERT_TRUE(set.plugins.for_key("fake").ok());
  ASSERT_TRUE(set.plugins.for_key("fake").ok());

  EXPECT_THAT(set.checked, ElementsAre("test.fake"));
  const Candidate candidate = set.plugins.candidates()[0];
  ASSERT_TRUE(candidate.probe.has_value());
  EXPECT_EQ(candidate.probe->elapsed_ms, 412u);
}

TEST(PluginSetProbe, ThatFailsKeepsThePluginOutOfThisProcess) {
  World world;
  // A constructor of the library would end this process.
  world.add_noted("bad", "constructor_exits", second());
  ProbedSet set(world);

  const auto active = set.plugins.for_key("fake");

  ASSERT_FALSE(active.ok());
  EXPECT_EQ(active.error().reason, "PROBE_CRASHED");
  EXPECT_EQ(set.plugins.candidates()[0].reason, reason::probe_crashed);
  EXPECT_EQ(set.plugins.candidates()[0].state, CandidateState::inspected);
  EXPECT_THAT(set.forgotten, IsEmpty());
}

TEST(PluginSetProbe, ThatFailsLeavesOtherPlugins) {
  World world;
  world.add_noted("bad", "constructor_exits", second());
  world.add("good", "good");
  ProbedSet set(world);

  const auto active = set.plugins.for_key("fake");

  ASSERT_TRUE(active.ok()) << active.error().message;
  EXPECT_EQ((*active)->plugin->id, "test.fake");
  EXPECT_THAT(set.checked, ElementsAre("test.second", "test.fake"));
}

TEST(PluginSetProbe, OfAPluginThatFailsInThisProcessIsForgotten) {
  World world;
  world.add("good", "good");
  ProbedSet set(world);
  set.create_fails = true;

  EXPECT_FALSE(set.plugins.for_key("fake").ok());

  EXPECT_THAT(set.forgotten, ElementsAre("test.fake"));
}

TEST(PluginSetProbe, OfAPluginThatWasNotProbedIsNotForgotten) {
  World world;
  world.add("good", "good");
  ProbedSet set(world);
  set.note.reset();
  set.create_fails = true;

  EXPECT_FALSE(set.plugins.for_key("fake").ok());

  EXPECT_THAT(set.forgotten, IsEmpty());
}

TEST(PluginSetProbe, IsShownBesideItsPlugin) {
  World world;
  world.add("good", "good");
  ProbedSet set(world);
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
  ProbedSet set(world);

  set.plugins.set_probe(0, unavailable("it hangs").with_reason("PROBE_TIMEOUT"));

  EXPECT_THAT(to_text(explain(set.plugins, {{"fake", false, {}}})),
              HasSubstr("GANTRY-D520 PROBE_TIMEOUT  it hangs"));
}

}  // namespace
}  // namespace gantry
