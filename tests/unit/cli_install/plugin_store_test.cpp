// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/install/plugin_store.hpp"

#include "core/plugins/manifest/machine_traits.hpp"

#include "tests/unit/cli_install/archive_builder.hpp"
#include "tests/unit/cli_install/mode_of.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;
using test::fake_manifest;
using test::gzipped;
using test::mode_of;
using test::TarBuilder;
using test::TempDir;
using test::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string text_in(const fs::path& path) {
  const auto bytes = test::read_file(path);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::string> titles(const PluginStore& store, std::string_view id = "") {
  std::vector<std::string> all;
  for (const StoredPlugin& plugin : store.versions(id))
    all.push_back(concat(plugin.id, "@", plugin.version));
  return all;
}

// An error's sentence, without the lines of context.
std::string text_of(const Result<Installation>& result) {
  if (result.ok()) return "";
  const std::string text(result.error().message.text());
  return text.substr(0, text.find('\n'));
}

struct Store {
  TempDir dir;
  PluginStore plugins{dir / "a/b"};

  Result<Installation> install(const fs::path& source) {
    return plugins.install(source, test::core_info().abi);
  }
};

TEST(PluginStore, InstallsADirectoryUnderItsIdAndVersion) {
  World world;
  world.add_noted("fake", "good");
  Store store;

  const auto done = store.install(world.path() / "fake");

  ASSERT_TRUE(done.ok()) << text_of(done);
  EXPECT_THAT(done->warnings, IsEmpty());
  EXPECT_EQ(done->plugin.path, store.dir / "a/b/test.fake-1.0.0");
  EXPECT_EQ(text_in(done->plugin.path / "fake.yaml"), text_in(world.path() / "fake/fake.yaml"));
  EXPECT_EQ(text_in(done->plugin.path / "libfake.so"), text_in(world.library("fake")));
}

TEST(PluginStore, InstallsArchives) {
  const std::string manifest = fake_manifest().text();
  const std::string library = text_in(test::fake_library("good"));
  const std::string flat =
      TarBuilder().add("./", "", '5').add("./x.yaml", manifest).add("./libfake.so", library).text();
  const std::string nested = TarBuilder()
                                 .add("fake/libfake.so", library, '0', "0000755")
                                 .add("fake/data/table", "1 2 3")
                                 .add("fake/x.yaml", manifest)
                                 .text();
  for (const std::string& archive : {flat, nested, gzipped(nested)}) {
    Store store;
    test::write_file(store.dir / "archive", std::string_view(archive));

    const auto done = store.install(store.dir / "archive");

    ASSERT_TRUE(done.ok()) << text_of(done);
    EXPECT_EQ(text_in(done->plugin.path / "libfake.so"), library);
    // the directory of the fixture, and the store without a hidden rest
    EXPECT_THAT(titles(store.plugins), ElementsAre("test.fake@1.0.0"));
    EXPECT_EQ(std::distance(fs::directory_iterator(store.dir / "a/b"), fs::directory_iterator()),
              1);
  }
}

TEST(PluginStore, KeepsOtherVersionsAndSortsThem) {
  World world;
  world.add_noted("old", "good", fake_manifest().version("1.9.0"));
  world.add_noted("new", "good", fake_manifest().version("1.10.0-rc.1"));
  world.add_noted("other", "good", fake_manifest().id("test.fake-b"));
  Store store;

  for (const char* name : {"new", "old", "other"}) {
    const auto done = store.install(world.path() / name);
    ASSERT_TRUE(done.ok()) << text_of(done);
  }

  EXPECT_THAT(titles(store.plugins, "test.fake"),
              ElementsAre("test.fake@1.9.0", "test.fake@1.10.0-rc.1"));
  EXPECT_THAT(titles(store.plugins, "test.fake-b"), ElementsAre("test.fake-b@1.0.0"));
}

TEST(PluginStore, RefusesADirectoryThatOthersMayChange) {
  World world;
  world.add_noted("fake", "good");
  Store store;
  fs::create_directory(store.dir / "a");
  fs::permissions(store.dir / "a", fs::perms(0777));

  const auto done = store.install(world.path() / "fake");

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().reason, "PERMISSIONS");
  EXPECT_THAT(text_of(done),
              HasSubstr(concat("directory ", (store.dir / "a").native(), ", on the path of ")));
  EXPECT_THAT(text_of(done), HasSubstr("has mode 0777"));
  EXPECT_TRUE(fs::is_empty(store.dir / "a"));
}

TEST(PluginStore, DoesNotChangeAnInstalledVersion) {
  World world;
  world.add_noted("fake", "good");
  Store store;
  ASSERT_TRUE(store.install(world.path() / "fake").ok());

  const auto again = store.install(world.path() / "fake");

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::invalid);
  EXPECT_EQ(text_of(again),
            concat("test.fake 1.0.0 is installed already, in \"",
                   (store.dir / "a/b/test.fake-1.0.0").native(),
                   "\"; an installed version is not changed: raise the version, or remove it "
                   "first"));
}

TEST(PluginStore, RefusesALibraryThatCannotBeAPlugin) {
  World world;
  world.add_noted("fake", "");
  test::write_file(world.library("fake"), std::string_view("no library"));
  Store store;

  const auto done = store.install(world.path() / "fake");

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().reason, "NOT_ELF");
  EXPECT_TRUE(fs::is_empty(store.dir / "a/b"));
}

TEST(PluginStore, WarnsOfWhatThisHostDoesNotHave) {
  World world;
  world.add_noted("fake", "good",
                  fake_manifest().set("requires", "{device_nodes: [/dev/no_such_node]}"));
  Store store;

  const auto done = store.install(world.path() / "fake");

  ASSERT_TRUE(done.ok()) << text_of(done);
  ASSERT_EQ(done->warnings.size(), 1u);
  EXPECT_THAT(done->warnings[0].text(), HasSubstr("device node /dev/no_such_node does not exist"));
}

// With the umask of systems with user-private groups, and of a careful administrator.
TEST(PluginStore, CreatesDirectoriesThatOnlyTheirOwnerMayWriteTo) {
  for (const mode_t umask : {0002, 0077}) {
    World world;
    world.add_noted("fake", "good");
    Store store;
    const mode_t before = ::umask(umask);

    const auto done = store.install(world.path() / "fake");

    ::umask(before);
    ASSERT_TRUE(done.ok()) << text_of(done);
    for (const fs::path& directory :
         {store.dir / "a", store.dir / "a/b", store.dir / "a/b/test.fake-1.0.0"}) {
      EXPECT_EQ(mode_of(directory), 0755u) << directory;
    }
    EXPECT_EQ(mode_of(done->plugin.path / "fake.yaml"), 0644u);
  }
}

TEST(PluginStore, AcceptsADirectoryThatExistsAndChangesNothingOfIt) {
  World world;
  world.add_noted("fake", "good");
  Store store;
  fs::create_directories(store.dir / "a/b");
  ASSERT_EQ(::chmod((store.dir / "a").c_str(), 0711), 0);

  const auto done =
      PluginStore(store.dir / "a/b/").install(world.path() / "fake", test::core_info().abi);

  ASSERT_TRUE(done.ok()) << text_of(done);
  EXPECT_EQ(mode_of(store.dir / "a"), 0711u);
}

TEST(PluginStore, ReportsAFileInPlaceOfItsDirectory) {
  World world;
  world.add_noted("fake", "good");
  Store store;
  test::write_file(store.dir / "a", std::string_view("x"));

  EXPECT_EQ(text_of(store.install(world.path() / "fake")),
            concat("cannot write \"", (store.dir / "a").native(), "\": Not a directory"));
}

TEST(PluginStore, RefusesLinksAndSpecialFilesOfADirectory) {
  World world;
  world.add_noted("link", "good");
  fs::create_symlink("/etc", world.path() / "link/etc");
  world.add_noted("fifo", "good");
  ASSERT_EQ(::mkfifo((world.path() / "fifo/pipe").c_str(), 0600), 0);
  Store store;

  EXPECT_EQ(text_of(store.install(world.path() / "link")),
            "\"etc\" is a symbolic link, expected regular files and directories");
  EXPECT_EQ(text_of(store.install(world.path() / "fifo")),
            "\"pipe\" is a FIFO, expected regular files and directories");
  EXPECT_FALSE(fs::exists(store.dir / "a"));
}

struct RefusedMember {
  std::string_view name;
  char type;
  std::string text;
};

// Each archive is otherwise complete, so the member alone is the reason.
TEST(PluginStore, RefusesMembersOfAnArchiveThatAreNoFilesOfThePlugin) {
  const std::string no_file = ", expected regular files and directories";
  const std::string outside = ", expected a relative path without \"..\"";
  const RefusedMember members[] = {
      {"x", '1', "\"x\" is a hard link" + no_file},
      {"x", '2', "\"x\" is a symbolic link" + no_file},
      {"x", '3', "\"x\" is a character device" + no_file},
      {"x", '4', "\"x\" is a block device" + no_file},
      {"x", '6', "\"x\" is a FIFO" + no_file},
      {"x", 'S', "\"x\" is a sparse file" + no_file},
      {"x", 'V', "\"x\" is a member of an unknown type" + no_file},
      {"/escaped", '0', "file name is \"/escaped\"" + outside},
      {".//escaped", '0', "file name is \"/escaped\"" + outside},
      {"../escaped", '0', "file name is \"../escaped\"" + outside},
      {"x/../../escaped", '0', "file name is \"x/../../escaped\"" + outside},
      {"libfake.so", '0', "file \"libfake.so\" occurs twice"},
      {"libfake.so/x", '0', "cannot write"},
  };
  for (const RefusedMember& member : members) {
    Store store;
    const std::string archive = TarBuilder()
                                    .add("x.yaml", fake_manifest().text())
                                    .add("libfake.so", text_in(test::fake_library("good")))
                                    .add(member.name, "", member.type)
                                    .text();
    test::write_file(store.dir / "archive", std::string_view(archive));

    EXPECT_THAT(text_of(store.install(store.dir / "archive")), ::testing::StartsWith(member.text))
        << member.name << " of type " << member.type;
    EXPECT_TRUE(!fs::exists(store.dir / "a/b") || fs::is_empty(store.dir / "a/b"));
    EXPECT_FALSE(fs::exists(store.dir / "escaped") || fs::exists(store.dir / "a/escaped"));
  }
}

// Whichever of the two comes first.
TEST(PluginStore, RefusesAFileThatALinkOfTheArchiveLeadsOutside) {
  Store store;
  const std::string outside = store.dir.path().native();
  const std::string link_first =
      TarBuilder().add_link("data", outside).add("data/escaped", "x").text();
  const std::string file_first =
      TarBuilder().add("data/escaped", "x").add_link("data", outside).text();
  for (const std::string& archive : {link_first, file_first}) {
    test::write_file(store.dir / "archive", std::string_view(archive));

    EXPECT_EQ(text_of(store.install(store.dir / "archive")),
              "\"data\" is a symbolic link, expected regular files and directories");
    EXPECT_FALSE(fs::exists(store.dir / "escaped"));
    fs::remove(store.dir / "archive");
  }
}

TEST(PluginStore, RefusesAFileThatIsNoArchive) {
  Store store;
  test::write_file(store.dir / "archive", std::string_view(std::string(600, 'x')));

  const auto done = store.install(store.dir / "archive");

  ASSERT_FALSE(done.ok());
  EXPECT_THAT(text_of(done), HasSubstr("tar header checksum"));
}

TEST(PluginStore, RefusesSeveralManifestsAndNone) {
  World world;
  world.add_noted("two", "good");
  test::write_file(world.path() / "two/b.yaml", std::string_view("x"));
  fs::create_directories(world.path() / "none");
  test::write_file(world.path() / "none/readme", std::string_view("x"));
  Store store;

  EXPECT_EQ(text_of(store.install(world.path() / "two")),
            "found 2 manifests (*.yaml), expected one; files: b.yaml, libfake.so, two.yaml");
  EXPECT_EQ(text_of(store.install(world.path() / "none")),
            "found 0 manifests (*.yaml), expected one; files: readme");
}

TEST(PluginStore, InstallsTheManifestForThisMachineOfSeveral) {
  World world;
  world.add_noted("two", "good");
  fs::rename(world.path() / "two/two.yaml",
             world.path() / concat("two/two.", host_traits().arch, ".yaml"));
  const char* const other = host_traits().arch == "aarch64" ? "x86_64" : "aarch64";
  test::write_file(world.path() / concat("two/two.", other, ".yaml"), std::string_view("x"));
  Store store;

  EXPECT_EQ(text_of(store.install(world.path() / "two")), "");
}

// Of a manifest that is missing, and of a limit below what the files have.
TEST(PluginStore, WritesNothingOfAnArchiveThatItRefuses) {
  const std::string zeros(3 << 20, '\0');
  const std::string manifest = fake_manifest().text();
  const std::string without = TarBuilder().add("zeros", zeros).text();
  const std::string large = TarBuilder().add("x.yaml", manifest).add("zeros", zeros).text();
  const std::string raises = "; --max-mib raises the limit";
  const StagingLimits limits{.bytes = 2 << 20};
  const std::tuple<std::string, StagingLimits, std::string> cases[] = {
      {without, {}, "found 0 manifests (*.yaml), expected one; files: zeros"},
      {gzipped(without), {}, "found 0 manifests (*.yaml), expected one; files: zeros"},
      {large, limits,
       concat("\"zeros\" has 3145728 bytes after ", manifest.size(),
              " bytes of other files, limit is 2097152", raises)},
      {gzipped(large), limits, "archive has more than 2097152 bytes after decompression" + raises},
      {gzipped(TarBuilder().add("global", zeros, 'g').text()), limits,
       "archive has more than 2097152 bytes after decompression" + raises},
  };
  for (const auto& [archive, limit, text] : cases) {
    Store store;
    test::write_file(store.dir / "archive", std::string_view(archive));

    const auto done = store.plugins.install(store.dir / "archive", test::core_info().abi, limit);

    EXPECT_EQ(text_of(done), text);
    EXPECT_FALSE(fs::exists(store.dir / "a"));
  }
}

TEST(PluginStore, RefusesALibraryElsewhere) {
  World world;
  world.add_noted("fake", "good", fake_manifest().library("/opt/acme/libfake.so"));
  Store store;

  EXPECT_EQ(text_of(store.install(world.path() / "fake")),
            "fake.yaml: library is \"/opt/acme/libfake.so\", expected a path relative to the "
            "manifest: its directory is moved");
}

TEST(PluginStore, ReportsASourceThatDoesNotExist) {
  Store store;

  EXPECT_EQ(text_of(store.install("/nowhere/x.tar")),
            "\"/nowhere/x.tar\" does not exist, expected a directory or archive");
}

// Programs that have opened the library keep it.
TEST(PluginStore, RemovesAVersionWhoseFilesAreOpen) {
  World world;
  world.add_noted("fake", "good");
  Store store;
  const StoredPlugin plugin = store.install(world.path() / "fake").value().plugin;
  const auto open = MappedFile::open(plugin.path / "libfake.so").value();

  ASSERT_TRUE(store.plugins.remove(plugin).ok());

  EXPECT_THAT(titles(store.plugins), IsEmpty());
  EXPECT_TRUE(fs::is_empty(store.dir / "a/b"));
  EXPECT_EQ(open->bytes()[0], 0x7f);
}

TEST(PluginStore, ReportsAVersionThatCannotBeRemoved) {
  Store store;
  fs::create_directories(store.dir / "a/b");

  const Status removed = store.plugins.remove({"test.fake", "1.0.0", store.dir / "a/b/absent"});

  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.error().message.text(),
            concat("cannot remove \"", (store.dir / "a/b/absent").native(),
                   "\": No such file or directory"));
  EXPECT_TRUE(fs::is_empty(store.dir / "a/b"));
}

}  // namespace
}  // namespace gantry::cli
