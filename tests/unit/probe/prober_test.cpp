// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/prober.hpp"

#include "tests/unit/probe/probe_world.hpp"

#include <gmock/gmock.h>

#include <thread>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::fake_manifest;
using test::is_cached;
using test::ProbeWorld;
using test::reason_of_probe;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Prober, ProbesOnceAndThenUsesTheVerdict) {
  ProbeWorld world("good");
  const auto first = Prober(world.options()).probe(world.candidate());
  world.now_s += 180;
  Prober next(world.options());

  const auto second = next.probe(world.candidate());

  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(first->age_s, std::nullopt);
  EXPECT_EQ(second->age_s, std::uint64_t{180});
  EXPECT_EQ(second->elapsed_ms, first->elapsed_ms);
}

TEST(Prober, LogsAProbe) {
  ProbeWorld world("good");
  Prober prober(world.options());

  (void)prober.probe(world.candidate());
  (void)prober.probe(world.candidate());

  EXPECT_THAT(world.lines, ElementsAre(HasSubstr("plugin test.fake 1.0.0 was probed in ")));
}

TEST(Prober, DoesNotProbeWhatTheManifestExempts) {
  EXPECT_TRUE(Prober::is_subject(*ProbeWorld("good").candidate().manifest));
  EXPECT_TRUE(Prober::is_subject(
      *ProbeWorld("good", fake_manifest().line("probe: always")).candidate().manifest));
  EXPECT_FALSE(Prober::is_subject(
      *ProbeWorld("good", fake_manifest().line("probe: never")).candidate().manifest));
  EXPECT_FALSE(
      Prober::is_subject(*ProbeWorld("good", fake_manifest().id("gantry.x")).candidate().manifest));
  EXPECT_TRUE(
      Prober::is_subject(*ProbeWorld("good", fake_manifest().id("gantry.x").line("probe: always"))
                              .candidate()
                              .manifest));
}

TEST(Prober, DoesNotRunAnExemptPlugin) {
  ProbeWorld world("create_crashes", fake_manifest().line("probe: never"));

  const auto note = Prober(world.options()).check(world.candidate());

  ASSERT_TRUE(note.ok()) << note.error().message;
  EXPECT_FALSE(note->has_value());
}

TEST(Prober, RefusesAPluginThatCrashes) {
  ProbeWorld world("create_crashes");

  const auto note = Prober(world.options()).check(world.candidate());

  ASSERT_FALSE(note.ok());
  EXPECT_EQ(note.error().reason, "PROBE_CRASHED");
  EXPECT_THAT(
      note.error().message.text(),
      AllOf(HasSubstr("at address 0x10 in create (stage create), after "),
            HasSubstr("it is probed again in 60 s, or at once when one of its files changes or "
                      "after `gantry plugins clear test.fake`")));
}

TEST(Prober, KeepsAHarmfulVerdictForAMinuteThenForFiveThenForEver) {
  ProbeWorld world("create_crashes");
  Prober prober(world.options());
  const Candidate plugin = world.candidate();
  const auto probe_after = [&](std::int64_t seconds) {
    world.now_s += seconds;
    return prober.probe(plugin);
  };

  EXPECT_FALSE(is_cached(probe_after(0)));
  EXPECT_TRUE(is_cached(probe_after(59)));
  EXPECT_FALSE(is_cached(probe_after(1)));
  EXPECT_TRUE(is_cached(probe_after(299)));
  EXPECT_EQ(reason_of_probe(probe_after(1)), "QUARANTINED");
  EXPECT_EQ(reason_of_probe(probe_after(1'000'000)), "QUARANTINED");
}

// A probe may take longer than its verdict is valid.
TEST(Prober, CountsTheAgeOfAVerdictFromTheEndOfTheProbe) {
  ProbeWorld world("create_crashes");
  const fs::path begun = world.cache / "begun";
  ProberOptions options = world.options();
  options.program.path = world.probe_after("touch " + begun.string());
  options.now = [&] { return world.now_s + (fs::exists(begun) ? 100 : 0); };
  Prober prober(options);
  (void)prober.probe(world.candidate());

  const auto verdict = prober.cached(world.candidate());

  ASSERT_TRUE(verdict.has_value());
  EXPECT_THAT(verdict->error().message.text(), HasSubstr("this was found 0 s ago"));
}

TEST(Prober, StatesWhyAPluginIsQuarantined) {
  ProbeWorld world("constructor_aborts");
  Prober prober(world.options());
  const Candidate plugin = world.candidate();
  for (int i = 0; i < 3; ++i, world.now_s += 300) (void)prober.probe(plugin);

  const auto verdict = prober.probe(plugin);

  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, Code::unavailable);
  EXPECT_EQ(verdict.error().reason, "QUARANTINED");
  EXPECT_THAT(
      verdict.error().message.text(),
      ::testing::MatchesRegex(
          "plugin test\\.fake 1\\.0\\.0 is quarantined: it has failed 3 probes\n"
          "  GANTRY-D512 PROBE_ABORTED: plugin test\\.fake 1\\.0\\.0 aborts while its library is "
          "opened \\(stage open\\), after [0-9]+ ms\n"
          "  its last output:\n"
          "  fake: File already exists in database: acme\\.proto\n"
          "  it ran in a child process; this process has not opened it\n"
          "  it is probed again when one of its files changes or after `gantry plugins clear "
          "test\\.fake`"));
}

TEST(Prober, ProbesAQuarantinedPluginAfterItIsCleared) {
  ProbeWorld world("create_crashes");
  Prober prober(world.options());
  const Candidate plugin = world.candidate();
  for (int i = 0; i < 3; ++i, world.now_s += 300) (void)prober.probe(plugin);

  prober.forget(plugin);

  EXPECT_EQ(reason_of_probe(prober.probe(plugin)), "PROBE_CRASHED");
}

TEST(Prober, HealsWhenTheLibraryIsReplaced) {
  ProbeWorld world("create_crashes");
  Prober prober(world.options());
  for (int i = 0; i < 3; ++i, world.now_s += 300) (void)prober.probe(world.candidate());

  world.replace_by("good");

  EXPECT_EQ(reason_of_probe(prober.probe(world.candidate())), "passed");
}

// A refusal is not kept: what it needs may be there at once.
TEST(Prober, HealsWhenAMissingLibraryIsInstalled) {
  ProbeWorld world("missing_dependency");
  Prober prober(world.options());
  const auto before = prober.probe(world.candidate());

  fs::copy(test::build_tree() / "tests/fake_plugins/not_searched/libfake_dependency.so.4",
           world.library_directory() / "libfake_dependency.so.4");

  EXPECT_EQ(reason_of_probe(before), "LIB_NEEDED_MISSING");
  EXPECT_EQ(reason_of_probe(prober.probe(world.candidate())), "passed");
}

// A harmful verdict is kept, with its cause, until something on which it depends changes.
TEST(Prober, HealsAtOnceWhenADefectiveLibraryIsReplaced) {
  ProbeWorld world("missing_dependency");
  const fs::path needed = world.library_directory() / "libfake_dependency.so.4";
  const fs::path built = test::build_tree() / "tests/fake_plugins/not_searched";
  fs::copy(built / "aborts/libfake_dependency.so.4", needed);
  Prober prober(world.options());
  const auto first = prober.probe(world.candidate());
  world.now_s += 30;
  const auto again = prober.probe(world.candidate());

  fs::remove(needed);
  fs::copy(built / "libfake_dependency.so.4", needed);
  const auto healed = prober.probe(world.candidate());

  EXPECT_EQ(reason_of_probe(first), "PROBE_ABORTED");
  EXPECT_EQ(reason_of_probe(again), "PROBE_ABORTED");
  EXPECT_THAT(
      again.error().message.text(),
      AllOf(HasSubstr("aborts in create (stage create)"),
            HasSubstr("\n  this was found 30 s ago\n  it is probed again in 30 s, or at "
                      "once when one of its files changes or after `gantry plugins clear")));
  EXPECT_EQ(reason_of_probe(healed), "passed");
  EXPECT_FALSE(is_cached(healed));
}

// Of a driver that the plugin opens itself, only the manifest states the name.
TEST(Prober, HealsAtOnceWhenADriverOfTheManifestAppears) {
  ProbeWorld world("create_crashes", fake_manifest().set("requires", "{files: [/etc/passwd]}"));
  const Candidate plugin = world.candidate({(world.cache / "driver").string()});
  Prober prober(world.options());
  ASSERT_FALSE(is_cached(prober.probe(plugin)));
  ASSERT_TRUE(is_cached(prober.probe(plugin)));

  test::write_file(world.cache / "driver", std::string_view("installed"));

  EXPECT_FALSE(is_cached(prober.probe(plugin)));
}

TEST(Prober, ProbesAgainWhenALibraryThatThePluginNeedsChanges) {
  ProbeWorld world("missing_dependency");
  const fs::path needed = world.library_directory() / "libfake_dependency.so.4";
  fs::copy(test::build_tree() / "tests/fake_plugins/not_searched/libfake_dependency.so.4", needed);
  Prober prober(world.options());
  ASSERT_FALSE(is_cached(prober.probe(world.candidate())));
  ASSERT_TRUE(is_cached(prober.probe(world.candidate())));

  fs::last_write_time(needed, fs::file_time_type::clock::now() + std::chrono::seconds(1));

  EXPECT_FALSE(is_cached(prober.probe(world.candidate())));
}

TEST(Prober, ProbesAgainWhenTheManifestChanges) {
  ProbeWorld world("good");
  Prober prober(world.options());
  (void)prober.probe(world.candidate());
  ASSERT_TRUE(is_cached(prober.probe(world.candidate())));

  fs::last_write_time(world.candidate().file,
                      fs::file_time_type::clock::now() + std::chrono::seconds(1));

  EXPECT_FALSE(is_cached(prober.probe(world.candidate())));
}

TEST(Prober, ProbesAgainWhenAVariableThatThePluginMayReadChanges) {
  ProbeWorld world("good");
  Prober prober(world.options());
  (void)prober.probe(world.candidate());
  world.environment.all.push_back("HOME=/elsewhere");
  ASSERT_TRUE(is_cached(prober.probe(world.candidate())));

  world.environment.decisive = {"ACME_MODE=fast"};

  EXPECT_FALSE(is_cached(prober.probe(world.candidate())));
}

TEST(Prober, ProbesAgainWhenAnOptionOfThePluginChanges) {
  ProbeWorld world("good");
  ProberOptions options = world.options();
  options.config_file = world.set_level(1);
  Prober prober(options);
  ASSERT_EQ(reason_of_probe(prober.probe(world.candidate())), "passed");
  ASSERT_TRUE(is_cached(prober.probe(world.candidate())));

  world.set_level(2);

  const auto verdict = prober.probe(world.candidate());
  EXPECT_EQ(reason_of_probe(verdict), "passed");
  EXPECT_FALSE(is_cached(verdict));
}

TEST(Prober, EndsAQuarantineWhenAnOptionOfThePluginChanges) {
  ProbeWorld world("create_crashes");
  ProberOptions options = world.options();
  options.config_file = world.set_level(1);
  Prober prober(options);
  for (int i = 0; i < 3; ++i, world.now_s += 300) (void)prober.probe(world.candidate());
  ASSERT_EQ(reason_of_probe(prober.probe(world.candidate())), "QUARANTINED");

  world.set_level(2);

  EXPECT_EQ(reason_of_probe(prober.probe(world.candidate())), "PROBE_CRASHED");
}

// The configuration was changed after this process had read it.
TEST(Prober, RefusesAPluginThatHasOtherOptionsInTheProbe) {
  ProbeWorld world("create_crashes");
  ProberOptions options = world.options();
  options.config_file = world.set_level(2);
  world.plugin_options = {{"level", std::int64_t{1}, "", false}};
  Prober prober(options);

  const auto verdict = prober.probe(world.candidate());

  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().reason, "PROBE_FAILED");
  EXPECT_THAT(verdict.error().message.text(),
              HasSubstr("the configuration was changed after this process read it"));
  EXPECT_FALSE(prober.cached(world.candidate()).has_value());
}

TEST(Prober, ProbesAgainWithAnotherCore) {
  ProbeWorld world("good");
  (void)Prober(world.options()).probe(world.candidate());
  ProberOptions options = world.options();
  options.core.core_version = "9.0.0";

  EXPECT_FALSE(is_cached(Prober(options).probe(world.candidate())));
}

// A clock that was set back must not keep a verdict for longer.
TEST(Prober, ProbesAgainIfAHarmfulVerdictIsFromTheFuture) {
  ProbeWorld world("create_crashes");
  Prober prober(world.options());
  (void)prober.probe(world.candidate());

  world.now_s -= 10;

  EXPECT_FALSE(is_cached(prober.probe(world.candidate())));
}

TEST(Prober, ReadsAVerdictWithoutAProbe) {
  ProbeWorld world("good");
  Prober prober(world.options());
  const auto before = prober.cached(world.candidate());
  (void)prober.probe(world.candidate());

  const auto after = prober.cached(world.candidate());

  EXPECT_FALSE(before.has_value());
  ASSERT_TRUE(after.has_value());
  EXPECT_TRUE(after->ok());
}

TEST(Prober, AdmitsTwoProbesAtOnce) {
  ProbeWorld world("good");
  Prober one(world.options()), two(world.options());
  const Candidate plugin = world.candidate();
  std::string first, second;

  std::thread other([&] {
    for (int i = 0; i < 5; ++i, two.forget(plugin)) first = reason_of_probe(two.probe(plugin));
  });
  for (int i = 0; i < 5; ++i, one.forget(plugin)) second = reason_of_probe(one.probe(plugin));
  other.join();

  EXPECT_EQ(first, "passed");
  EXPECT_EQ(second, "passed");
}

TEST(Prober, RefusesWithoutTheProgramIfAProbeIsRequired) {
  ProbeWorld world("good", fake_manifest().line("probe: always"));
  ProberOptions options = world.options();
  options.program = {"", {"/a/gantry-probe", "/b/gantry-probe"}};

  const auto note = Prober(options).check(world.candidate());

  ASSERT_FALSE(note.ok());
  EXPECT_EQ(note.error().code, Code::unavailable);
  EXPECT_EQ(note.error().reason, "PROBE_MISSING");
  EXPECT_EQ(note.error().message,
            "plugin test.fake 1.0.0 cannot be probed: the program gantry-probe is not found, "
            "searched /a/gantry-probe, /b/gantry-probe");
}

TEST(Prober, AdmitsAPluginWithoutTheProgramAndWarnsOnce) {
  ProbeWorld world("create_crashes");
  const Log log(LogLevel::warning,
                [&](LogLevel, std::string_view line) { world.lines.emplace_back(line); });
  ProberOptions options = world.options();
  options.log = &log;
  options.program = {"", {"/a/gantry-probe"}};
  Prober prober(options);

  const auto first = prober.check(world.candidate());
  const auto second = prober.check(world.candidate());

  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_THAT(world.lines,
              ElementsAre(HasSubstr("plugins are opened without a probe: plugin test.fake 1.0.0")));
}

class ProberWithoutAProbe : public ::testing::TestWithParam<std::string> {};

TEST_P(ProberWithoutAProbe, RefusesThePluginThisTimeOnly) {
  ProbeWorld world("good");
  ProberOptions options = world.options();
  options.program.path = GetParam();

  const auto note = Prober(options).check(world.candidate());
  const auto later = Prober(world.options()).probe(world.candidate());

  ASSERT_FALSE(note.ok());
  EXPECT_EQ(note.error().code, Code::unavailable);
  EXPECT_EQ(note.error().reason, "PROBE_FAILED");
  EXPECT_THAT(
      note.error().message.text(),
      AllOf(HasSubstr(concat("program \"", GetParam(), "\" ")),
            HasSubstr("while plugin test.fake 1.0.0 is probed\n  it is not opened without a "
                      "probe: repair this and try again")));
  EXPECT_EQ(reason_of_probe(later), "passed");
}

// One that cannot be started, and one that ends before it opens the plugin.
INSTANTIATE_TEST_SUITE_P(All, ProberWithoutAProbe,
                         ::testing::Values("/nowhere/gantry-probe", "/bin/false"));

TEST(Prober, RefusesAPluginWhoseOwnReasonIsThatOfAMissingProgram) {
  ProbeWorld world("create_claims_no_probe");

  const auto note = Prober(world.options()).check(world.candidate());

  ASSERT_FALSE(note.ok());
  EXPECT_EQ(note.error().reason, "PROBE_MISSING");
}

TEST(Prober, PassesTheTimeLimitOfTheManifest) {
  ProbeWorld world("create_hangs", fake_manifest().line("probe_timeout_ms: 150"));

  const auto verdict = Prober(world.options()).probe(world.candidate());

  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().reason, "PROBE_TIMEOUT");
  EXPECT_THAT(verdict.error().message.text(),
              AllOf(HasSubstr("does not return within 150 ms in create (stage create)"),
                    HasSubstr("fake: waiting for the device"),
                    HasSubstr("raise probe_timeout_ms in " + world.candidate().file)));
}

TEST(ProbeError, HasAReasonOfAProbe) {
  const auto of = [](std::string_view tag) {
    return is_probe_error(Error(Code::unavailable, "x").with_reason(tag));
  };
  EXPECT_TRUE(of("PROBE_CRASHED") && of("QUARANTINED") && of("PROBE_FAILED"));
  EXPECT_FALSE(of("CREATE_FAILED") || of("DISABLED") || of(""));
}

}  // namespace
}  // namespace gantry
