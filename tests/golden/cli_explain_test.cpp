// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"
#include "tests/support/manifest_builder.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

namespace gantry::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two versions of acme.npu, a drop-in, and a plugin that is chosen for the same key.
class PluginsExplain : public ::testing::Test {
 protected:
  PluginsExplain() {
    const ManifestBuilder manifest =
        ManifestBuilder()
            .id("acme.npu")
            .key("npu")
            .device("npu")
            .set("config_schema",
                 "{cache_mb: {type: int, default: 64, doc: size of the cache}, mode: {type: enum, "
                 "enum: [fast, safe], "
                 "default: "
                 "safe}, token: {type: string, secret: true, default: \"none\"}}");
    ManifestBuilder(manifest).version("2.0.0").line("vendor: ACME").write_to(dir_ / "new/new.yaml");
    ManifestBuilder(manifest).version("1.0.0").write_to(dir_ / "old/old.yaml");
    write_file(dir_ / "new/libfake.so", std::string_view("x"));
    std::filesystem::create_directory(dir_ / "new.yaml.d");
    write_file(dir_ / "new.yaml.d/10.yaml", std::string_view("config: {mode: fast}\n"));
    write_file(dir_ / "runtime.yaml", "plugins: {dirs: [" + directory() +
                                          "]}\nbackends: {acme.npu: {config: {token: hush}}}\n");
  }
  std::string directory() const { return dir_.path().string(); }
  Outcome run_command(std::vector<std::string> args) const {
    args.insert(args.begin(), {"--config", (dir_ / "runtime.yaml").string()});
    return run_gantry(args, {"GANTRY_CONFIG_ACME_NPU__CACHE_MB=7"});
  }
  Outcome explain(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"plugins", "explain", "acme.npu"});
    return run_command(more);
  }

 private:
  const TempDir dir_;
};

TEST_F(PluginsExplain, PrintsManifestsOptionsAndOffers) {
  const Outcome outcome = explain();

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("plugin acme.npu 2.0.0\n  vendor    ACME\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nmanifests\n  REFUSED  2.0.0      tier 2  " + directory() +
                                     "/new/new.yaml\n           GANTRY-D30"));
  EXPECT_THAT(outcome.out,
              HasSubstr("\n           drop-in " + directory() + "/new.yaml.d/10.yaml\n"));
  // The version that is refused at its library has left the id to it.
  EXPECT_THAT(outcome.out, HasSubstr("\n  REFUSED  1.0.0      tier 2  " + directory() +
                                     "/old/old.yaml\n           GANTRY-D305 LIBRARY_MISSING  "));
  EXPECT_THAT(outcome.out, HasSubstr("\nkey npu                  served by no plugin\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\ndevice npu                  served by no plugin\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n           would be chosen if: GANTRY-D300 NOT_ELF is "
                                     "repaired: install the library again, for Linux\n"));
}

TEST_F(PluginsExplain, PrintsTheSourceOfEachOptionAndNoSecret) {
  const std::string text = explain().out;

  EXPECT_THAT(text, HasSubstr("\n  cache_mb             7                    environment variable "
                              "GANTRY_CONFIG_ACME_NPU__CACHE_MB\n           size of the cache\n"));
  EXPECT_THAT(text, HasSubstr("\n  mode                 fast                 " + directory() +
                              "/new.yaml.d/10.yaml\n"));
  EXPECT_THAT(text, HasSubstr("\n  token                ***                  " + directory() +
                              "/runtime.yaml\n"));
  EXPECT_THAT(text, Not(HasSubstr("hush")));
  EXPECT_THAT(explain({"--json"}).out, Not(HasSubstr("hush")));
}

TEST_F(PluginsExplain, PrintsTheSameAsJson) {
  const json all = json::parse(explain({"--json"}).out);

  EXPECT_EQ(all.at("id"), "acme.npu");
  EXPECT_EQ(all.at("used").at("version"), "2.0.0");
  ASSERT_EQ(all.at("manifests").size(), 2u);
  EXPECT_EQ(all.at("manifests")[0].at("drop_ins"), json({directory() + "/new.yaml.d/10.yaml"}));
  EXPECT_EQ(all.at("manifests")[1].at("reason"), "GANTRY-D305 LIBRARY_MISSING");
  EXPECT_EQ(all.at("options")[0].at("doc"), "size of the cache");
  EXPECT_EQ(all.at("options")[1], json({{"key", "mode"},
                                        {"value", "fast"},
                                        {"source", directory() + "/new.yaml.d/10.yaml"},
                                        {"secret", false},
                                        {"doc", nullptr}}));
  EXPECT_EQ(all.at("options_error"), nullptr);
  ASSERT_EQ(all.at("offers").size(), 2u);
  EXPECT_EQ(all.at("offers")[0].at("what"), "npu");
  EXPECT_EQ(all.at("offers")[0].at("candidates")[0].at("would_be_chosen_if").size(), 1u);
}

// The members of `explain` without its offers, which doctor lists as requirements, and of `check`.
TEST_F(PluginsExplain, IsPartOfTheJsonOfDoctor) {
  json explained = json::parse(explain({"--json"}).out);
  const json doctor = json::parse(run_command({"plugins", "doctor", "--json"}).out);
  const json checked =
      json::parse(run_gantry({"plugins", "check", "--json", directory() + "/new/new.yaml"}).out);

  ASSERT_EQ(doctor.at("plugins").size(), 1u);
  json plugin = doctor.at("plugins")[0];
  EXPECT_EQ(plugin.at("manifests")[0].at("drop_ins"), json({directory() + "/new.yaml.d/10.yaml"}));
  EXPECT_EQ(plugin.at("options")[0].at("source"),
            "environment variable GANTRY_CONFIG_ACME_NPU__CACHE_MB");
  EXPECT_GE(plugin.at("findings").size(), 15u);
  EXPECT_EQ(plugin.at("findings"), checked.at("findings"));
  plugin.erase("findings");
  explained.erase("offers");
  EXPECT_EQ(plugin, explained);
  EXPECT_THAT(doctor.dump(), Not(HasSubstr("hush")));
}

TEST_F(PluginsExplain, InDoctorReadsNoLibraryThatOthersCanChange) {
  for (const char* name : {"/new", "/old"})
    ASSERT_EQ(::chmod((directory() + name).c_str(), 0777), 0);

  const json doctor = json::parse(run_command({"plugins", "doctor", "--json"}).out);

  ASSERT_EQ(doctor.at("plugins").size(), 1u);
  EXPECT_EQ(doctor.at("plugins")[0].at("manifests")[0].at("reason"), "GANTRY-D252 PERMISSIONS");
  EXPECT_THAT(doctor.at("plugins")[0].at("findings"), IsEmpty());
}

TEST_F(PluginsExplain, PrintsWhyOptionsCannotBeResolved) {
  const Outcome outcome = run_gantry({"--plugins", directory(), "plugins", "explain", "acme.npu"},
                                     {"GANTRY_CONFIG_ACME_NPU__CACHE_MB=much"});

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\noptions\n  REFUSED  environment variable "
                                     "GANTRY_CONFIG_ACME_NPU__CACHE_MB: option \"cache_mb\" of "
                                     "plugin acme.npu: expected int"));
}

TEST_F(PluginsExplain, NamesTheNearestIdOfAnUnknownOne) {
  const Outcome outcome = run_gantry({"--plugins", directory(), "plugins", "explain", "acme.npv"});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("gantry: plugin \"acme.npv\" not found, did you mean "
                                     "\"acme.npu\"\n  installed plugins: acme.npu\n"));
}

TEST_F(PluginsExplain, IsCompletedWithInstalledIds) {
  EXPECT_EQ(
      run_gantry({"__complete", "--", "--plugins", directory(), "plugins", "explain", "a"}).out,
      "acme.npu\n");
}

}  // namespace
}  // namespace gantry::test
