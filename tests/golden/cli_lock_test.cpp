// SPDX-License-Identifier: Apache-2.0
//
// `plugins lock` and `plugins verify`, and what a lock file and a trust file change for other
// commands.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"
#include "tests/support/minisign_signer.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* model = "tvm-0.12/digits_mlp_c.so";

// A host with the graph plugin, whose configuration names its own trust file and lock file.
class LockedHost : public ::testing::Test {
 protected:
  LockedHost() {
    fs::create_directories(dir_ / "plugins");
    fs::copy(built_plugins("graph"), dir_ / "plugins/graph");
    write_file(dir_ / "runtime.yaml",
               "plugins: {dirs: [plugins], trust: trust.yaml, lock: plugins.lock}\n");
  }
  std::string path(std::string_view name) const { return (dir_ / name).string(); }
  Outcome run(std::vector<std::string> args) const {
    args.insert(args.begin(), {"--config", path("runtime.yaml")});
    return run_gantry(args);
  }
  void lock() const {
    const Outcome locked = run({"plugins", "lock", "-o", path("plugins.lock")});
    ASSERT_EQ(locked.status, 0) << locked.err;
  }
  // By rename, as an installation replaces a file.
  void change_library() const {
    auto bytes = read_file(dir_ / "plugins/graph/libgantry_graph.so");
    bytes.push_back(0);
    write_file(dir_ / "new", bytes);
    fs::rename(dir_ / "new", dir_ / "plugins/graph/libgantry_graph.so");
  }

  TempDir dir_;
};

TEST_F(LockedHost, MatchesTheLockFileThatItWrote) {
  lock();

  const Outcome verified = run({"plugins", "verify"});

  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_EQ(verified.out, "1 plugin matches " + path("plugins.lock") + "\n");
  EXPECT_EQ(run({"plugins", "doctor", "--artifact", model}).status, 0);
}

TEST_F(LockedHost, PrintsTheLockFileWithoutAName) {
  const Outcome printed = run({"plugins", "lock"});

  lock();
  EXPECT_EQ(printed.status, 0) << printed.err;
  const auto written = read_file(dir_ / "plugins.lock");
  EXPECT_EQ(printed.out, std::string(written.begin(), written.end()));
}

TEST_F(LockedHost, PrintsTheEntriesAsOneDocument) {
  const Outcome printed = run({"plugins", "lock", "--json"});
  EXPECT_FALSE(fs::exists(path("plugins.lock")));
  const Outcome written = run({"plugins", "lock", "--json", "-o", path("plugins.lock")});

  ASSERT_EQ(printed.status, 0) << printed.err;
  ASSERT_EQ(written.status, 0) << written.err;
  const json document = json::parse(printed.out);
  EXPECT_EQ(document["file"], nullptr);
  EXPECT_EQ(json::parse(written.out)["file"], path("plugins.lock"));
  EXPECT_EQ(json::parse(written.out)["plugins"], document["plugins"]);
  ASSERT_EQ(document["plugins"].size(), 1u);
  const json& entry = document["plugins"][0];
  EXPECT_EQ(entry["id"], "gantry.graph");
  EXPECT_EQ(entry["library"], path("plugins/graph/libgantry_graph.so"));
  // The lock file has the same fields.
  const auto bytes = read_file(dir_ / "plugins.lock");
  const std::string text(bytes.begin(), bytes.end());
  for (const auto& [field, value] : entry.items())
    EXPECT_THAT(text, HasSubstr(field + ": ")) << value;
  EXPECT_THAT(text, HasSubstr(entry["library_sha256"].get<std::string>()));
  EXPECT_EQ(run({"plugins", "verify"}).status, 0);
}

TEST_F(LockedHost, UsesStandardOutputOnce) {
  const Outcome twice = run({"plugins", "lock", "--json", "-o", "-"});

  EXPECT_EQ(twice.status, 1);
  EXPECT_EQ(twice.out, "");
  EXPECT_EQ(twice.err, "gantry: standard output is used twice, by --output and --json\n");
}

TEST_F(LockedHost, RefusesAChangedLibraryAndNamesTheDigests) {
  lock();
  change_library();

  const Outcome doctor = run({"plugins", "doctor", "--artifact", model});
  const Outcome verified = run({"plugins", "verify"});
  const Outcome as_json = run({"plugins", "verify", "--json"});

  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out, HasSubstr("GANTRY-D262 LOCK_MISMATCH  lock file " + path("plugins.lock") +
                                    " lists gantry.graph with library_sha256 "));
  EXPECT_EQ(verified.status, 1);
  EXPECT_THAT(verified.out, StartsWith("changed gantry.graph library_sha256: locked "));
  const json difference = json::parse(as_json.out)["differences"].at(0);
  EXPECT_EQ(difference["kind"], "changed");
  EXPECT_EQ(difference["field"], "library_sha256");
  EXPECT_NE(difference["locked"], difference["found"]);
}

TEST_F(LockedHost, CanBeLockedAgainAfterAChange) {
  lock();
  change_library();

  lock();

  EXPECT_EQ(run({"plugins", "verify"}).status, 0);
}

TEST_F(LockedHost, CanBeLockedAgainIfTheLockFileIsMalformed) {
  write_file(dir_ / "plugins.lock", "plugins: 1\n");

  const Outcome refused = run({"plugins", "lock", "-o", path("plugins.lock")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("remove it and write it again with `gantry plugins lock`"));

  fs::remove(dir_ / "plugins.lock");
  lock();
  EXPECT_EQ(run({"plugins", "verify"}).status, 0);
}

TEST_F(LockedHost, ReportsAddedAndRemovedPlugins) {
  lock();
  fs::copy(built_plugins("relax"), dir_ / "plugins/relax");
  fs::remove_all(dir_ / "plugins/graph");

  const Outcome verified = run({"plugins", "verify"});

  EXPECT_EQ(verified.status, 1);
  EXPECT_EQ(verified.out, "added gantry.relax (" + path("plugins/relax/relax.yaml") +
                              ")\nremoved gantry.graph (" + path("plugins/graph/graph.yaml") +
                              ")\n");
}

TEST_F(LockedHost, ReportsAMissingLibrary) {
  lock();
  fs::remove(dir_ / "plugins/graph/libgantry_graph.so");

  EXPECT_THAT(run({"plugins", "verify"}).out, HasSubstr(", found unreadable ("));
  const Outcome again = run({"plugins", "lock"});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("while locking plugin gantry.graph 0.1.0; repair, disable or"));
}

TEST_F(LockedHost, DoesNotLockALibraryWithAnotherDigest) {
  const fs::path manifest = dir_ / "plugins/graph/graph.yaml";
  const auto bytes = read_file(manifest);
  write_file(manifest, std::string(bytes.begin(), bytes.end()) + "sha256: \"" +
                           std::string(64, '0') + "\"\n");

  const Outcome locked = run({"plugins", "lock"});
  const Outcome doctor = run({"plugins", "doctor", "--artifact", model});

  EXPECT_EQ(locked.status, 1);
  EXPECT_THAT(locked.err, HasSubstr(" states sha256 " + std::string(64, '0')));
  EXPECT_THAT(doctor.out, HasSubstr("GANTRY-D251 DIGEST"));
}

TEST_F(LockedHost, NeedsAFileToVerify) {
  const Outcome verified = run({"plugins", "verify", path("none.lock")});

  EXPECT_EQ(verified.status, 1);
  EXPECT_THAT(verified.err, HasSubstr(path("none.lock") + ": No such file or directory"));
}

TEST_F(LockedHost, RefusesAWritablePlugin) {
  ::chmod(path("plugins/graph").c_str(), 0777);

  const Outcome doctor = run({"plugins", "doctor", "--artifact", model});

  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out, HasSubstr("GANTRY-D252 PERMISSIONS  directory " + path("plugins/graph") +
                                    ", on the path of "));
}

TEST_F(LockedHost, ReadsTheTrustFileOfItsConfiguration) {
  write_file(dir_ / "trust.yaml", "policies: {config: require}\n");

  const Outcome doctor = run({"plugins", "doctor", "--artifact", model});

  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out, HasSubstr("GANTRY-D254 SIGNATURE_MISSING  "));

  write_file(dir_ / "trust.yaml", "policies: {config: maybe}\n");
  const Outcome wrong = run({"plugins", "list"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, HasSubstr("while reading the trust file " + path("trust.yaml")));
}

TEST_F(LockedHost, RunsASignedPluginAndNoChangedOne) {
  const MinisignSigner signer;
  const fs::path manifest = dir_ / "plugins/graph/graph.yaml";
  const auto locked = run({"plugins", "lock"}).out;
  const std::string digest = locked.substr(locked.find("library_sha256: ") + 16, 66);
  const auto bytes = read_file(manifest);
  const std::string text = std::string(bytes.begin(), bytes.end()) + "sha256: " + digest + "\n";
  write_file(manifest, text);
  write_file(manifest.string() + ".minisig", signer.sign(text));
  write_file(dir_ / "trust.yaml", "keys: [{id: test, public_key: \"" + signer.public_key() +
                                      "\"}]\npolicies: {default: off, config: require}\n");

  const Outcome doctor = run({"plugins", "doctor", "--artifact", model});
  EXPECT_EQ(doctor.status, 0) << doctor.out;

  write_file(manifest, text + "priority: 5\n");
  EXPECT_THAT(run({"plugins", "doctor", "--artifact", model}).out,
              HasSubstr("GANTRY-D256 SIGNATURE_INVALID  " + manifest.string() +
                        ".minisig is not a signature of "));
}

// An elevated process uses the files of the system.
TEST_F(LockedHost, IgnoresTheFilesOfAnotherConfigurationIfElevated) {
  write_file(dir_ / "trust.yaml", "policies: {config: require}\n");

  const Outcome doctor =
      run_gantry({"--config", path("runtime.yaml"), "plugins", "doctor", "--artifact", model},
                 {"GANTRY_SECURE=1"});

  EXPECT_THAT(doctor.out, Not(HasSubstr("SIGNATURE_MISSING")));
}

}  // namespace
}  // namespace gantry::test
