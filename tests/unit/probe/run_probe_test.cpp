// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/run_probe.hpp"

#include "core/base/reason.hpp"
#include "tests/unit/probe/probe_world.hpp"

#include <gmock/gmock.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace gantry {
namespace {

using test::ProbeWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<ProbeEnd> run(const ProbeCommand& command) {
  KilledChildren killed;
  return run_probe(command, killed);
}

struct Harm {
  std::string variant;
  ProbeOutcome outcome;
  ProbeStage stage;
  int signal;
  std::string lines;
};
void PrintTo(const Harm& harm, std::ostream* out) { *out << harm.variant; }

class RunProbeOf : public ::testing::TestWithParam<Harm> {};

TEST_P(RunProbeOf, ReportsHowThePluginEndsItsProcess) {
  const ProbeWorld world(GetParam().variant);

  const auto end = run(world.command());

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->outcome, GetParam().outcome);
  EXPECT_EQ(end->stage, GetParam().stage);
  EXPECT_EQ(end->signal, GetParam().signal);
  EXPECT_THAT(end->last_lines, HasSubstr(GetParam().lines));
}

INSTANTIATE_TEST_SUITE_P(
    All, RunProbeOf,
    ::testing::Values(
        Harm{"constructor_crashes", ProbeOutcome::crashed, ProbeStage::open, SIGSEGV, ""},
        Harm{"constructor_sigill", ProbeOutcome::crashed, ProbeStage::open, SIGILL, ""},
        Harm{"constructor_exits", ProbeOutcome::exited, ProbeStage::open, 0, ""},
        Harm{"constructor_aborts", ProbeOutcome::aborted, ProbeStage::open, SIGABRT,
             "fake: File already exists in database"},
        Harm{"constructor_throws", ProbeOutcome::aborted, ProbeStage::open, SIGABRT,
             "fake: thrown"},
        Harm{"query_crashes", ProbeOutcome::crashed, ProbeStage::query, SIGSEGV, ""},
        Harm{"query_returns_junk", ProbeOutcome::crashed, ProbeStage::query, SIGSEGV, ""},
        Harm{"create_crashes", ProbeOutcome::crashed, ProbeStage::create, SIGSEGV, ""},
        Harm{"create_overflows", ProbeOutcome::crashed, ProbeStage::create, SIGSEGV, ""},
        Harm{"create_exits", ProbeOutcome::exited, ProbeStage::create, 0, "called exit()"},
        Harm{"create_prints", ProbeOutcome::flooded, ProbeStage::create, 0, "fake: and so on"},
        Harm{"count_aborts", ProbeOutcome::aborted, ProbeStage::enumerate, SIGABRT,
             "fake: no linker"}),
    [](const auto& test) { return test.param.variant; });

TEST(RunProbe, PassesAGoodPlugin) {
  const ProbeWorld world("good");

  const auto end = run(world.command());

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->outcome, ProbeOutcome::passed) << end->last_lines;
  EXPECT_EQ(end->stage, ProbeStage::enumerate);
  EXPECT_EQ(end->last_lines, "");
}

TEST(RunProbe, ReportsTheAddressOfACrash) {
  const ProbeWorld world("create_crashes");

  const auto end = run(world.command());

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->address, std::uint64_t{0x10});
}

TEST(RunProbe, ReportsTheAddressOfAnUnknownInstruction) {
  const ProbeWorld world("constructor_sigill");

  const auto end = run(world.command());

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->stage, ProbeStage::open);
  EXPECT_EQ(end->signal, SIGILL);
  EXPECT_NE(end->address.value_or(0), 0u);
}

TEST(RunProbe, ReportsTheExitStatus) {
  const ProbeWorld world("constructor_exits");

  const auto end = run(world.command());

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->exit_status, 3);
}

class RunProbeThatHangs : public ::testing::TestWithParam<std::pair<std::string, ProbeStage>> {};

TEST_P(RunProbeThatHangs, EndsItAfterItsTime) {
  const ProbeWorld world(GetParam().first);

  const auto end = run(world.command(200));

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->outcome, ProbeOutcome::timed_out);
  EXPECT_EQ(end->stage, GetParam().second);
  EXPECT_GE(end->elapsed_ms, 200u);
}

INSTANTIATE_TEST_SUITE_P(All, RunProbeThatHangs,
                         ::testing::Values(std::pair("constructor_hangs", ProbeStage::open),
                                           std::pair("constructor_deadlocks", ProbeStage::open),
                                           std::pair("create_hangs", ProbeStage::create),
                                           std::pair("count_hangs", ProbeStage::enumerate)),
                         [](const auto& test) { return test.param.first; });

TEST(RunProbe, KeepsTheOutputOfAPluginThatHangs) {
  const ProbeWorld world("create_hangs");

  const auto end = run(world.command(200));

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->last_lines, "fake: waiting for the device");
}

// A process that waits in the kernel for a driver ends some time after it is killed, or never.
TEST(RunProbe, DoesNotWaitForAProcessThatCannotBeKilled) {
  const ProbeWorld world("create_hangs_traced");
  const std::filesystem::path stuck = world.cache / "stuck";
  test::write_file(stuck, std::string_view("x"));
  ProbeCommand command = world.command(200);
  command.environment.push_back("FAKE_STUCK=" + stuck.string());
  command.kill_ms = 100;
  KilledChildren killed;

  const auto end = run_probe(command, killed);
  const std::size_t left = killed.reap();
  std::filesystem::remove(stuck);

  ASSERT_TRUE(end.ok()) << end.error().message;
  if (end->outcome == ProbeOutcome::passed) GTEST_SKIP() << "processes cannot be traced here";
  EXPECT_EQ(end->outcome, ProbeOutcome::timed_out);
  EXPECT_TRUE(end->is_left);
  EXPECT_EQ(left, 1u);
  for (int i = 0; i < 1000 && killed.reap() != 0; ++i) ::usleep(10'000);
  EXPECT_EQ(killed.reap(), 0u) << "it has ended and is a zombie";
}

TEST(RunProbe, WaitsForTheProgramsThatEarlierProbesCouldNotEnd) {
  const ProbeWorld world("good");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  KilledChildren killed;
  killed.add(child);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);

  (void)run_probe(world.command(), killed);

  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), -1) << "it is a zombie";
}

// The child of the plugin is in the process group that is killed, and does not delay the verdict.
TEST(RunProbe, DoesNotWaitForAProcessThatThePluginStarts) {
  const ProbeWorld world("create_forks");

  const auto end = run(world.command());

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->outcome, ProbeOutcome::passed) << end->last_lines;
}

TEST(RunProbe, LimitsTheMemoryOfAPlugin) {
  const ProbeWorld world("create_allocates");

  const auto end = run(world.command());

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->outcome, ProbeOutcome::refused) << end->last_lines;
  EXPECT_EQ(static_cast<Code>(end->code), Code::exhausted);
}

TEST(RunProbe, ConfinesAPlugin) {
  const ProbeWorld world("create_describes");
  ::setenv("GANTRY_TEST_SECRET", "1", 1);
  // Inherited: without close-on-exec.
  ASSERT_EQ(::dup2(2, 100), 100);

  const auto end = run(world.command());

  ::close(100);
  ::unsetenv("GANTRY_TEST_SECRET");
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->last_lines,
            "privileges 1, core 0, leader 1, input 0, descriptor 100 -1, variable none");
}

TEST(RunProbe, ReturnsTheErrorOfAPluginThatRefuses) {
  const ProbeWorld world("create_fails", test::fake_manifest().id("test.second").version("2.0.0"));

  const auto end = run(world.command());

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->outcome, ProbeOutcome::refused);
  EXPECT_EQ(end->stage, ProbeStage::create);
  EXPECT_EQ(end->reason, "NO_DEVICE");
  EXPECT_THAT(end->text, HasSubstr("fake: no device on this machine"));
}

TEST(RunProbe, ReturnsTheErrorOfTheLinker) {
  const ProbeWorld world("missing_dependency");

  const auto end = run(world.command());

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->outcome, ProbeOutcome::refused);
  EXPECT_EQ(end->stage, ProbeStage::open);
  EXPECT_EQ(end->reason, reason::lib_needed_missing.tag);
}

TEST(RunProbe, FailsIfTheProgramCannotBeStarted) {
  const ProbeWorld world("good");
  ProbeCommand command = world.command();
  command.helper = "/nowhere/gantry-probe";

  const auto end = run(command);

  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, Code::unavailable);
  EXPECT_EQ(end.error().message,
            "program \"/nowhere/gantry-probe\" cannot be started: No such file or directory");
}

TEST(RunProbe, FailsIfTheProgramDoesNotReachThePlugin) {
  const ProbeWorld world("good");
  ProbeCommand command = world.command();
  command.helper = "/bin/false";

  const auto end = run(command);

  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().message,
            "program \"/bin/false\" does not reach the plugin: it ended with status 1");
}

TEST(ProbeArguments, AreReadAsTheyAreWritten) {
  ProbeCommand command;
  command.manifest = "/a.yaml";
  command.config_file = "/c.yaml";
  command.memory_bytes = 7;
  command.tier = Tier::admin;
  command.location = "/etc/gantry/plugins.d";
  command.drop_ins = {"/1.yaml", "/2.yaml"};

  const auto read = read_probe_arguments(probe_arguments(command));

  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->manifest, "/a.yaml");
  EXPECT_EQ(read->config_file, "/c.yaml");
  EXPECT_EQ(read->memory_bytes, 7u);
  EXPECT_EQ(read->tier, Tier::admin);
  EXPECT_EQ(read->location, "/etc/gantry/plugins.d");
  EXPECT_THAT(read->drop_ins, ElementsAre("/1.yaml", "/2.yaml"));
}

TEST(ProbeArguments, RequireNumbers) {
  EXPECT_TRUE(read_probe_arguments({"/a.yaml", "", "7", "1", ""}).ok());
  EXPECT_FALSE(read_probe_arguments({"/a.yaml", "", "7", "1"}).ok());
  EXPECT_FALSE(read_probe_arguments({"/a.yaml", "", "much", "1", ""}).ok());
  EXPECT_FALSE(read_probe_arguments({"/a.yaml", "", "7", "low", ""}).ok());
  EXPECT_FALSE(read_probe_arguments({"/a.yaml", "", "7", "0", ""}).ok());
  EXPECT_FALSE(read_probe_arguments({"/a.yaml", "", "7", "9", ""}).ok());
}

}  // namespace
}  // namespace gantry
