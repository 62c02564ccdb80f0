// SPDX-License-Identifier: Apache-2.0
//
// Files that are replaced after the program that probes has checked them. gantry-probe checks what it
// reads itself, with the configuration of that program.
#include "core/base/digest/digest.hpp"
#include "core/plugins/probe/prober.hpp"
#include "tests/unit/probe/probe_world.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::fake_library;
using test::fake_manifest;
using test::ProbeWorld;
using test::reason_of_probe;
using ::testing::HasSubstr;

std::string with_digest_of(std::string_view variant) {
  return concat("\"", hex_text(sha256(test::read_file(fake_library(variant)))), "\"");
}

// Probes the plugin of a world; the commands run before gantry-probe reads a file.
Result<ProbeNote> probe_after(ProbeWorld& world, const Candidate& plugin,
                              std::string_view commands) {
  ProberOptions options = world.options();
  options.program.path = world.probe_after(commands);
  return Prober(options).probe(plugin);
}

TEST(ProbeTrust, PassesAPluginWithItsDigest) {
  ProbeWorld world("good", fake_manifest().set("sha256", with_digest_of("good")));

  EXPECT_EQ(reason_of_probe(probe_after(world, world.candidate(), "")), "passed");
}

TEST(ProbeTrust, RefusesALibraryWithAnotherDigest) {
  ProbeWorld world("good", fake_manifest().set("sha256", with_digest_of("good")));
  const std::string library = world.world.library("fake").string();

  const auto verdict = probe_after(world, world.candidate(),
                                   concat("cp ", fake_library("create_crashes").string(), " ",
                                          library, ".new && mv ", library, ".new ", library));

  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().reason, "DIGEST");
  EXPECT_THAT(verdict.error().message.text(),
              HasSubstr("while plugin test.fake 1.0.0 was probed in a child process, before it is "
                        "opened"));
}

TEST(ProbeTrust, RefusesALibraryThatOthersCanChange) {
  ProbeWorld world("create_crashes");

  const auto verdict =
      probe_after(world, world.candidate(), "chmod o+w " + world.world.library("fake").string());

  EXPECT_EQ(reason_of_probe(verdict), "PERMISSIONS");
}

TEST(ProbeTrust, RefusesAManifestThatOthersCanChange) {
  ProbeWorld world("create_crashes");

  const auto verdict = probe_after(world, world.candidate(), "chmod o+w \"$1\"");

  EXPECT_EQ(reason_of_probe(verdict), "PERMISSIONS");
}

TEST(ProbeTrust, RefusesADropInThatOthersCanChange) {
  ProbeWorld world("create_crashes");
  Candidate plugin = world.candidate();
  plugin.drop_ins = {(world.world.path() / "drop_in.yaml").string()};
  test::write_file(plugin.drop_ins[0], std::string_view("priority: 1\n"));

  const auto verdict = probe_after(world, plugin, "chmod o+w " + plugin.drop_ins[0]);

  EXPECT_EQ(reason_of_probe(verdict), "PERMISSIONS");
}

// The trust file requires a signature in one tier.
TEST(ProbeTrust, HasThePolicyOfTheManifestsTier) {
  ProbeWorld world("create_crashes");
  test::write_file(world.cache / "trust.yaml", std::string_view("policies: {admin: require}\n"));
  test::write_file(world.cache / "runtime.yaml",
                   std::string_view("plugins: {trust: trust.yaml}\n"));
  ProberOptions options = world.options();
  options.config_file = (world.cache / "runtime.yaml").string();
  Candidate plugin = world.candidate();
  plugin.tier = Tier::admin;
  plugin.location_name = "/a/directory";

  const auto of_4 = Prober(options).probe(plugin);
  plugin.tier = Tier::boot;
  const auto of_5 = Prober(options).probe(plugin);

  ASSERT_FALSE(of_4.ok());
  EXPECT_EQ(of_4.error().reason, "SIGNATURE_MISSING");
  EXPECT_THAT(of_4.error().message.text(), HasSubstr("the manifests of /a/directory (tier "));
  EXPECT_EQ(reason_of_probe(of_5), "PROBE_CRASHED");
}

}  // namespace
}  // namespace gantry
