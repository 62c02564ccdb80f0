// SPDX-License-Identifier: Apache-2.0
//
// The command line with plugins that end or block the process that opens them.
#include "tests/golden/cli_command.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <thread>

namespace gantry::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Args = std::vector<std::string>;

class Probed : public ::testing::Test {
 protected:
  Outcome gantry(Args args) {
    args.insert(args.begin(), {"--plugins", world.path().string()});
    return run_gantry(args, {"XDG_CACHE_HOME=" + cache.path().string()});
  }
  void add(std::string_view name, std::string_view variant,
           ManifestBuilder manifest = fake_manifest()) {
    world.add(name, variant, manifest.line("probe: auto"));
  }
  // Opens the plugin that serves the device.
  Outcome devices() { return gantry({"devices"}); }
  Outcome doctor(Args more = {}) {
    Args args{"plugins", "doctor", "--key", "fake"};
    args.insert(args.end(), more.begin(), more.end());
    return gantry(args);
  }

  World world;
  TempDir cache;
};

class ProbedOneThat : public Probed,
                      public ::testing::WithParamInterface<std::pair<std::string, std::string>> {};

TEST_P(ProbedOneThat, DoesHarmIsALineAndTheCommandGoesOn) {
  add("bad", GetParam().first, fake_manifest().line("probe_timeout_ms: 200"));
  add("good", "second", fake_manifest().id("test.second").version("2.0.0").line("priority: -1"));

  const Outcome outcome = devices();

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("cpu:0"), HasSubstr("fake_device:0")));
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().second));
}

INSTANTIATE_TEST_SUITE_P(
    All, ProbedOneThat,
    ::testing::Values(std::pair("constructor_crashes", "crashes by signal 11"),
                      std::pair("constructor_exits", "ends its process with status 3"),
                      std::pair("constructor_throws", "fake: thrown"),
                      std::pair("constructor_hangs", "does not return within 200 ms"),
                      std::pair("create_crashes", "at address 0x10 in create"),
                      std::pair("count_hangs", "while its devices are counted")),
    [](const auto& test) { return test.param.first; });

TEST_F(Probed, PluginIsShownByTheDoctorWithItsTime) {
  add("good", "good");

  const Outcome first = doctor({"--probe"});
  const Outcome second = doctor({"--probe"});
  const Outcome looked = doctor();

  EXPECT_THAT(first.out, ::testing::ContainsRegex("  probe [0-9]+ ms\n"));
  EXPECT_THAT(second.out, ::testing::ContainsRegex("  probe [0-9]+ ms \\(cached [0-9]+ s\\)\n"));
  EXPECT_THAT(looked.out, HasSubstr(" ms (cached "));
}

TEST_F(Probed, PluginHasItsTimeInTheJson) {
  add("good", "good");
  (void)doctor({"--probe"});

  const json probed = json::parse(doctor({"--probe", "--json"}).out);

  const json& probe = probed["requirements"][0]["candidates"][0]["probe"];
  EXPECT_TRUE(probe["elapsed_ms"].is_number_unsigned());
  EXPECT_TRUE(probe["cached_s"].is_number_unsigned());
}

TEST_F(Probed, PluginThatCrashesIsRefusedUntilItIsCleared) {
  add("bad", "create_crashes");
  const Outcome first = doctor({"--probe"});
  const Outcome again = doctor({"--probe"});

  const Outcome cleared = gantry({"plugins", "clear", "test.fake"});
  const Outcome cleared_again = gantry({"plugins", "clear", "test.fake"});
  const Outcome last = doctor({"--probe"});

  EXPECT_THAT(first.out, AllOf(HasSubstr("GANTRY-D510 PROBE_CRASHED"), Not(HasSubstr(" s ago"))));
  EXPECT_THAT(again.out, HasSubstr(" s ago\n"));
  EXPECT_EQ(cleared.status, 0);
  EXPECT_EQ(cleared.out, "test.fake 1.0.0: the verdict of its probe is removed, " +
                             world.library("bad").string() + "\n");
  EXPECT_EQ(cleared_again.out,
            "test.fake 1.0.0: it has no verdict, " + world.library("bad").string() + "\n");
  EXPECT_THAT(last.out, Not(HasSubstr(" s ago")));
}

TEST_F(Probed, PluginIsProbedByTwoProcessesAtOnce) {
  add("good", "good");
  Outcome first;

  std::thread other([&] { first = doctor({"--probe"}); });
  const Outcome second = doctor({"--probe"});
  other.join();
  const Outcome after = doctor();

  EXPECT_EQ(first.status, 0) << first.out;
  EXPECT_EQ(second.status, 0) << second.out;
  EXPECT_THAT(after.out, HasSubstr(" ms (cached "));
}

TEST_F(Probed, PluginThatIsClearedHasAnId) {
  add("good", "good");

  const Outcome outcome = gantry({"plugins", "clear", "test.fak"});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("plugin \"test.fak\" not found, did you mean "
                                     "\"test.fake\"; plugins: "));
}

}  // namespace
}  // namespace gantry::test
