// SPDX-License-Identifier: Apache-2.0
//
// The checks of core/plugins/trust between a plugin's manifest and its code.
#include "core/base/digest/digest.hpp"
#include "tests/support/minisign_signer.hpp"
#include "tests/unit/choice/set_fixture.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <thread>

namespace gantry {
namespace {

namespace fs = std::filesystem;

using test::fake_library;
using test::fake_manifest;
using test::second;
using test::SetFixture;
using test::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string digest_of(const fs::path& file) { return hex_text(sha256(test::read_file(file))); }

// trust_file  [in]  path; empty: none
std::shared_ptr<const Trust> host_trust(const std::string& trust_file = "") {
  TrustOptions options;
  options.trust_file = trust_file;
  options.lock_file = "";
  options.now = 0;
  return std::make_shared<const Trust>(Trust::open(options).value());
}

std::unique_ptr<SetFixture> trusting(const World& world,
                                     std::shared_ptr<const Trust> trust = host_trust()) {
  return std::make_unique<SetFixture>(world, std::vector<std::pair<std::string, std::string>>(),
                                      std::vector<PluginFilter>(), std::move(trust));
}

TEST(PluginSetTrust, DoesNotTryACandidateThatOthersCanChange) {
  World world;
  world.add("a", "aborts_at_start");
  ::chmod(world.library("a").c_str(), 0666);
  const auto set = trusting(world);

  const auto plugin = set->plugins.for_key("fake");

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().reason, "NO_PLUGIN");
  EXPECT_EQ(set->plugins.candidates()[0].passed, Step::filtered);
  EXPECT_EQ(set->plugins.candidates()[0].reason, reason::permissions);
  EXPECT_THAT(set->plugins.served_keys(), IsEmpty());
}

// Others can place the library that the plugin needs.
TEST(PluginSetTrust, DoesNotOpenAPluginWhoseSearchPathOthersCanChange) {
  World world;
  world.add("a", "");
  test::write_file(world.library("a"), test::plugin_elf(test::bytes_of(test::note_record()))
                                           .needed("libdependency.so.1")
                                           .runpath("$ORIGIN/../deps")
                                           .build());
  const fs::path deps = world.path() / "deps";
  fs::create_directories(deps);
  const auto inspected = [&] {
    const auto set = trusting(world);
    (void)set->plugins.usable_for_key("fake", Depth::library);
    return set->plugins.candidates()[0];
  };
  EXPECT_EQ(inspected().passed, Step::resolved) << inspected().text;
  ::chmod(deps.c_str(), 0777);

  const Candidate refused = inspected();

  EXPECT_EQ(refused.reason, reason::permissions);
  EXPECT_THAT(refused.text, HasSubstr("directory " + deps.string() + ", on the path"));
}

// The warning of the policy is about the plugin that is used.
TEST(PluginSetTrust, LogsTheWarningOfAPolicyWhenTheNextVersionIsUsed) {
  World world;
  world.add("a", "good");
  world.add("b", "", fake_manifest().version("1.1.0"));
  test::TempDir etc;
  test::write_file(etc / "trust.yaml", "policies: {default: warn}\n");
  const auto set = trusting(world, host_trust((etc / "trust.yaml").string()));
  ASSERT_THAT(set->lines, ElementsAre(HasSubstr("plugin test.fake 1.1.0: GANTRY-D254")));
  // A report before the load takes neither warning from it.
  const auto reported = trusting(world, host_trust((etc / "trust.yaml").string()));
  reported->plugins.inspect_all();

  for (SetFixture* const each : {set.get(), reported.get()}) {
    each->lines.clear();
    ASSERT_TRUE(each->plugins.for_key("fake").ok());
    ASSERT_TRUE(each->plugins.for_device("fake_device").ok());
    EXPECT_THAT(each->lines, ElementsAre(HasSubstr(" is refused, 1.0.0 of "),
                                         HasSubstr("plugin test.fake 1.0.0: GANTRY-D254")));
  }
}

// The plugin that the configuration names is signed; the one in the user's directory is not.
TEST(PluginSetTrust, ReplacesASignedPluginByNoUnsignedOne) {
  const test::MinisignSigner signer;
  const auto refusal = [&](std::string_view needs, std::string_view library) {
    World config, user;
    const std::string file =
        config.add("signed", "good",
                   fake_manifest()
                       .set("sha256", concat("\"", digest_of(fake_library("good")), "\""))
                       .set("requires", needs));
    const auto manifest = test::read_file(file);
    test::write_file(file + ".minisig",
                     std::string_view(signer.sign(std::string(manifest.begin(), manifest.end()))));
    user.add("unsigned", "good");
    fs::remove(config.library("signed"));
    fs::copy_file(fake_library(library), config.library("signed"));
    test::TempDir etc;
    test::write_file(
        etc / "trust.yaml",
        std::string_view(concat("keys: [{id: acme, public_key: \"", signer.public_key(),
                                "\"}]\npolicies: {config: require}\n")));
    PluginLocations locations;
    locations.host.clear();
    locations.config_directories = {config.path().string()};
    locations.user_directory = user.path().string();
    ChoiceOptions options;
    options.core = test::core_info();
    options.trust = host_trust((etc / "trust.yaml").string());
    options.overrides = {{"fake", "test.fake"}};
    options.fallback = false;
    PluginSet plugins(search_plugins(locations), options);

    const auto active = plugins.for_key("fake");

    EXPECT_EQ(plugins.candidates().back().reason, reason::shadowed_by);
    return active.ok() ? (*active)->manifest.version.text : active.error().reason;
  };

  EXPECT_EQ(refusal("{device_nodes: [/dev/null]}", "good"), "1.0.0");
  EXPECT_EQ(refusal("{device_nodes: [/dev/gantry_none]}", "good"), "NO_DEVICE_NODE");
  EXPECT_EQ(refusal("{device_nodes: [/dev/null]}", "newer"), "DIGEST");
}

TEST(PluginSetTrust, LogsTheWarningsOfAPolicyOnce) {
  World world;
  world.add("a", "good");
  world.add("b", "second", second());
  test::TempDir etc;
  test::write_file(etc / "trust.yaml", "policies: {default: warn}\n");
  const auto set = trusting(world, host_trust((etc / "trust.yaml").string()));

  ASSERT_TRUE(set->plugins.open("test.fake").ok());

  EXPECT_THAT(set->lines,
              ElementsAre(HasSubstr("plugin test.fake 1.0.0: GANTRY-D254 SIGNATURE_MISSING: "),
                          HasSubstr("plugin test.second 2.0.0: GANTRY-D254 SIGNATURE_MISSING: ")));
  EXPECT_EQ(set->plugins.warnings().size(), 2u);
}

// Between inspection and dlopen(): the code of the other file does not run.
TEST(OpenPlugin, RefusesALibraryThatIsReplacedAfterItsInspection) {
  World world;
  world.add("a", "good");
  const Manifest manifest = world.manifest("a");
  const auto inspection = inspect_plugin(manifest, test::core_info().abi, Depth::library).value();
  fs::copy_file(fake_library("aborts_at_start"), world.path() / "new.so");
  fs::rename(world.path() / "new.so", world.library("a"));

  const auto plugin = open_plugin(manifest, inspection, test::core_info());

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, Code::unavailable);
  EXPECT_EQ(plugin.error().reason, "REPLACED_DURING_LOAD");
  EXPECT_EQ(plugin.error().message,
            world.library("a").string() +
                " is another file than the inspected one: it was replaced after it was inspected; "
                "start the program again when the installation has ended");
}

TEST(OpenPlugin, RefusesALibraryWhoseDirectoryIsReplaced) {
  World world;
  world.add("a", "good");
  world.add("evil", "aborts_at_start");
  const Manifest manifest = world.manifest("a");
  const auto inspection = inspect_plugin(manifest, test::core_info().abi, Depth::library).value();
  fs::rename(world.path() / "a", world.path() / "old");
  fs::rename(world.path() / "evil", world.path() / "a");

  const auto plugin = open_plugin(manifest, inspection, test::core_info());

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().reason, "REPLACED_DURING_LOAD");
}

// The directory of the library is a link that another thread exchanges all the time. A library that
// is not the one of the digest would abort this program.
TEST(OpenPlugin, NeverRunsALibraryThatIsExchangedDuringTheLoad) {
  World world;
  world.add("good", "good");
  world.add("evil", "aborts_at_start");
  const fs::path link = world.path() / "link";
  fs::create_directory_symlink("good", link);
  world.add("plugin", "",
            fake_manifest()
                .library((link / "libfake.so").string())
                .set("sha256", "\"" + digest_of(fake_library("good")) + "\""));
  const Manifest manifest = world.manifest("plugin");
  const auto trust = host_trust();
  std::atomic<bool> stop = false;
  std::thread exchange([&] {
    for (bool evil = true; !stop; evil = !evil) {
      std::error_code ignored;
      fs::create_directory_symlink(evil ? "evil" : "good", world.path() / "next", ignored);
      fs::rename(world.path() / "next", link, ignored);
    }
  });

  for (int i = 0; i < 200; ++i) {
    const auto inspection =
        inspect_plugin(manifest, test::core_info().abi, Depth::library, {.trust = trust.get()});
    if (!inspection.ok()) {
      EXPECT_EQ(inspection.error().reason, "DIGEST");
      continue;
    }
    const auto plugin = open_plugin(manifest, *inspection, test::core_info());
    if (plugin.ok()) continue;
    EXPECT_EQ(plugin.error().reason, "REPLACED_DURING_LOAD");
  }
  stop = true;
  exchange.join();
}

// $ORIGIN of a library that was opened through /proc/self/fd is its directory.
TEST(OpenPlugin, FindsDependenciesBesideTheLibrary) {
  World world;
  world.add("a", "missing_dependency");
  fs::copy_file(fake_library("good").parent_path() / "not_searched/libfake_dependency.so.4",
                world.path() / "a/libfake_dependency.so.4");

  // In a child process: other tests need that the dependency is not in the process.
  EXPECT_EXIT(_exit(open_plugin(world.manifest("a"), test::core_info()).ok() ? 0 : 1),
              testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gantry
