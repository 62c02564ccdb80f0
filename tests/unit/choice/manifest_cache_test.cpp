// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/manifest_cache.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/yaml/yaml_bytes.hpp"
#include "core/plugins/choice/steps.hpp"
#include "tests/support/cached_file.hpp"
#include "tests/support/manifest_builder.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <thread>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::ManifestBuilder;
using test::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FileStamp stamp_of_path(const fs::path& path) {
  struct stat about {};
  EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
  return stamp_of(about);
}

std::span<const std::uint8_t> span_of(std::string_view bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

class ManifestCacheTest : public ::testing::Test {
 protected:
  // Without a tick, because a test's files are new.
  ManifestCache::Options options(std::chrono::nanoseconds tick = {}) {
    return {(dir / "cache").string(), "a search", &log, tick};
  }
  // What a process does with a file.
  struct Seen {
    bool is_kept = false;
    std::string value;
  };
  static Seen see(ManifestCache& cache, const fs::path& path,
                  ManifestText text = ManifestText::if_needed) {
    const ManifestFile file = cache.open(path.string(), text).value();
    if (text == ManifestText::always) {
      EXPECT_EQ(file.text, test::file_text(path));
    }
    return {file.kept != nullptr, cache.parse(file).value().root.find("key")->text};
  }
  Seen see_in_new_process(const fs::path& path, ManifestText text = ManifestText::if_needed) {
    ManifestCache cache(options());
    Seen seen = see(cache, path, text);
    cache.save();
    return seen;
  }
  fs::path cache_file() { return ManifestCache(options()).path(); }
  // Waits until a change of a file has another time than that of `path`.
  void wait_for_tick(const fs::path& path) const {
    const std::int64_t before = stamp_of_path(path).changed_ns;
    do write_file(dir / "clock", std::string_view("x"));
    while (stamp_of_path(dir / "clock").changed_ns <= before);
  }

  const test::TempDir dir;
  const fs::path file = dir / "a.yaml";
  std::vector<std::string> warnings;
  const Log log{LogLevel::warning,
                [this](LogLevel, std::string_view line) { warnings.emplace_back(line); }};
};

TEST_F(ManifestCacheTest, HasWhatAnEarlierProcessParsed) {
  write_file(file, std::string_view("key: a\n"));

  EXPECT_FALSE(see_in_new_process(file).is_kept);
  const Seen again = see_in_new_process(file);

  EXPECT_TRUE(again.is_kept);
  EXPECT_EQ(again.value, "a");
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(fs::status(cache_file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ManifestCacheTest, IsNotCreatedWithoutADirectory) {
  write_file(file, std::string_view("key: a\n"));
  ManifestCache none;

  EXPECT_EQ(see(none, file).value, "a");
  none.save();

  EXPECT_FALSE(fs::exists(dir / "cache"));
}

TEST_F(ManifestCacheTest, ReadsTheTextOfAKeptFileIfItIsNeeded) {
  write_file(file, std::string_view("key: a\n"));
  see_in_new_process(file);

  const Seen seen = see_in_new_process(file, ManifestText::always);

  EXPECT_TRUE(seen.is_kept);
  EXPECT_EQ(seen.value, "a");
}

// Each change of a file of the same name must be noticed, also if nothing else has changed.
struct Change {
  std::string name;
  void (*make)(const fs::path& file, const FileStamp& before);
  std::string value = "b";
};

void set_modified(const fs::path& file, std::int64_t ns) {
  const timespec times[2] = {{0, UTIME_OMIT}, {ns / 1'000'000'000, ns % 1'000'000'000}};
  ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
}

class ChangeOfAManifest : public ManifestCacheTest, public ::testing::WithParamInterface<Change> {};

TEST_P(ChangeOfAManifest, IsNoticed) {
  write_file(file, std::string_view("key: a\n"));
  see_in_new_process(file);
  ASSERT_TRUE(see_in_new_process(file).is_kept);
  wait_for_tick(file);

  GetParam().make(file, stamp_of_path(file));

  for (const ManifestText text : {ManifestText::if_needed, ManifestText::always}) {
    ManifestCache cache(options());
    const Seen seen = see(cache, file, text);
    EXPECT_FALSE(seen.is_kept);
    EXPECT_EQ(seen.value, GetParam().value);
  }
  see_in_new_process(file);
  EXPECT_TRUE(see_in_new_process(file).is_kept);
}

INSTANTIATE_TEST_SUITE_P(
    All, ChangeOfAManifest,
    ::testing::Values(Change{"Size",
                             [](const fs::path& at, const FileStamp&) {
                               write_file(at, std::string_view("key: b # b\n"));
                             }},
                      // as after cp --preserve or an unpacked archive
                      Change{"ContentWithTheOldSizeAndTime",
                             [](const fs::path& at, const FileStamp& before) {
                               write_file(at, std::string_view("key: b\n"));
                               set_modified(at, before.modified_ns);
                             }},
                      Change{"TimeAlone",
                             [](const fs::path& at, const FileStamp& before) {
                               set_modified(at, before.modified_ns - 1);
                             },
                             "a"},
                      Change{"OtherFile",
                             [](const fs::path& at, const FileStamp& before) {
                               write_file(at.parent_path() / "new", std::string_view("key: b\n"));
                               set_modified(at.parent_path() / "new", before.modified_ns);
                               fs::rename(at.parent_path() / "new", at);
                             }},
                      Change{"Link",
                             [](const fs::path& at, const FileStamp&) {
                               write_file(at.parent_path() / "target",
                                          std::string_view("key: b\n"));
                               fs::remove(at);
                               fs::create_symlink("target", at);
                             }},
                      Change{"Mode",
                             [](const fs::path& at, const FileStamp&) {
                               fs::permissions(at, fs::perms::owner_read);
                             },
                             "a"}),
    [](const auto& test) { return test.param.name; });

// What is written next may leave the same stamp.
TEST_F(ManifestCacheTest, KeepsNoFileThatWasJustChanged) {
  write_file(file, std::string_view("key: a\n"));
  set_modified(file, 1'000'000'000);
  for (int i = 0; i < 2; ++i) {
    ManifestCache cache(options(longest_file_tick));

    EXPECT_FALSE(see(cache, file).is_kept);
    cache.save();
  }

  EXPECT_FALSE(fs::exists(cache_file()));
}

// The stamps of both contents are equal in most of the trials, on a file system whose clock has ticks.
TEST_F(ManifestCacheTest, NoticesAReplacementWithinOneTick) {
  int equal_stamps = 0;
  for (int i = 0; i < 50 && equal_stamps < 3; ++i) {
    write_file(file, std::string_view("key: a\n"));
    const FileStamp first = stamp_of_path(file);
    ManifestCache earlier(options(longest_file_tick));
    ASSERT_EQ(see(earlier, file).value, "a");
    write_file(file, std::string_view("key: b\n"));
    if (stamp_of_path(file) != first) continue;
    ++equal_stamps;
    earlier.save();

    ManifestCache later(options(longest_file_tick));
    EXPECT_EQ(see(later, file).value, "b");
  }
  if (equal_stamps == 0) GTEST_SKIP() << "here each change of a file has a time of its own";
}

TEST_F(ManifestCacheTest, DropsWhatIsNotOpened) {
  write_file(file, std::string_view("key: a\n"));
  write_file(dir / "b.yaml", std::string_view("key: b\n"));
  {
    ManifestCache both(options());
    see(both, file), see(both, dir / "b.yaml");
    both.save();
  }
  const auto size = fs::file_size(cache_file());

  ManifestCache one(options());
  see(one, file);
  one.save();

  EXPECT_LT(fs::file_size(cache_file()), size);
  ManifestCache again(options());
  EXPECT_TRUE(see(again, file).is_kept);
  EXPECT_FALSE(see(again, dir / "b.yaml").is_kept);
}

TEST_F(ManifestCacheTest, IsNotWrittenIfNothingHasChanged) {
  write_file(file, std::string_view("key: a\n"));
  see_in_new_process(file);
  const FileStamp written = stamp_of_path(cache_file());

  see_in_new_process(file);

  EXPECT_EQ(stamp_of_path(cache_file()), written);
}

TEST_F(ManifestCacheTest, DoesNotKeepATextThatIsNoYaml) {
  write_file(file, std::string_view("key: [\n"));
  ManifestCache cache(options());

  const auto document = cache.parse(cache.open(file.string(), ManifestText::if_needed).value());
  cache.save();

  EXPECT_EQ(document.error().reason, "YAML_SYNTAX");
  EXPECT_FALSE(fs::exists(cache_file()));
  EXPECT_EQ(cache.open((dir / "none.yaml").string(), ManifestText::if_needed).error().code,
            Code::not_found);
}

TEST_F(ManifestCacheTest, HasAFileForEachSearch) {
  SearchResult a, b, c;
  a.locations = {
      {Tier::program, "--plugins /x", LocationState::searched, {"/x/a.yaml"}, {"/x"}, {}}};
  b.locations = {
      {Tier::program, "--plugins /y", LocationState::searched, {"/y/a.yaml"}, {"/y"}, {}}};
  c.locations = {
      {Tier::environment, "GANTRY_PLUGIN_FILES", LocationState::searched, {"/x/a.yaml"}, {}, {}}};
  SearchResult more = a;
  more.locations[0].files.push_back("/x/b.yaml");
  more.locations.push_back({Tier::admin, "/etc", LocationState::absent, {}, {"/etc"}, {}});

  EXPECT_NE(search_key(a), search_key(b));
  EXPECT_NE(search_key(a), search_key(c));
  EXPECT_EQ(search_key(a), search_key(more));
  const auto path_of = [](const SearchResult& found) {
    return ManifestCache({.directory = "/c", .search = search_key(found)}).path();
  };
  EXPECT_NE(path_of(a), path_of(b));
}

// Damage, and files and directories that others can change: nothing of them is used, the user is
// warned, and what can be written is written anew.
TEST_F(ManifestCacheTest, IsWrittenAnewIfItIsDamaged) {
  write_file(file, std::string_view("key: a\n"));
  see_in_new_process(file);
  std::string bytes = test::file_text(cache_file());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(cache_file(), bytes);

  EXPECT_FALSE(see_in_new_process(file).is_kept);

  EXPECT_THAT(warnings, ElementsAre(HasSubstr("is ignored: checksum does not match")));
  EXPECT_TRUE(see_in_new_process(file).is_kept);
}

TEST_F(ManifestCacheTest, IsWrittenAnewIfItIsForeign) {
  write_file(file, std::string_view("key: a\n"));
  see_in_new_process(file);
  DiskCache disk({.directory = (dir / "cache/manifests").string()});
  const test::CachedFile cached = test::read_cached_file(cache_file());
  const auto store = [&](const std::string& content) {
    ASSERT_TRUE(disk.store(cached.key, span_of(content)));
    warnings.clear();
  };

  store(cached.content + "x");
  EXPECT_FALSE(see_in_new_process(file).is_kept);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("is ignored: 1 bytes follow the last manifest")));
  EXPECT_TRUE(see_in_new_process(file).is_kept);

  const KeptManifest stamped{stamp_of_path(file), span_of("no value")};
  store(to_bytes({{file.native(), stamped}}));
  EXPECT_EQ(see_in_new_process(file).value, "a");
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("is not used for " + file.string() + ": value: ")));
  EXPECT_TRUE(see_in_new_process(file).is_kept);
  EXPECT_EQ(test::read_cached_file(cache_file()).content, cached.content);
}

TEST_F(ManifestCacheTest, IsNotReadIfOthersCanWriteIt) {
  write_file(file, std::string_view("key: a\n"));
  see_in_new_process(file);
  fs::permissions(cache_file(), fs::perms::others_write, fs::perm_options::add);

  EXPECT_FALSE(see_in_new_process(file).is_kept);

  EXPECT_THAT(warnings, ElementsAre(HasSubstr("is ignored: another user can write it")));
  EXPECT_TRUE(see_in_new_process(file).is_kept);
}

TEST_F(ManifestCacheTest, IsNotUsedInADirectoryThatOthersCanWrite) {
  write_file(file, std::string_view("key: a\n"));
  see_in_new_process(file);
  fs::permissions(dir / "cache", fs::perms::others_write, fs::perm_options::add);

  for (int i = 0; i < 2; ++i) EXPECT_FALSE(see_in_new_process(file).is_kept);

  EXPECT_THAT(warnings[0], HasSubstr("is not used: directory "));
}

// As in a home that cannot be written: no message, as nothing depends on the cache.
TEST_F(ManifestCacheTest, IsAbsentWhereNothingCanBeCreated) {
  write_file(file, std::string_view("key: a\n"));
  write_file(dir / "cache", std::string_view("a file"));

  for (int i = 0; i < 2; ++i) EXPECT_FALSE(see_in_new_process(file).is_kept);

  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(ManifestCacheTest, HasWhatTheLastOfTwoWritersParsed) {
  write_file(file, std::string_view("key: a\n"));
  write_file(dir / "b.yaml", std::string_view("key: b\n"));
  ManifestCache first(options()), second(options());
  see(first, file), see(second, file), see(second, dir / "b.yaml");

  first.save();
  second.save();

  ManifestCache third(options());
  EXPECT_TRUE(see(third, file).is_kept);
  EXPECT_TRUE(see(third, dir / "b.yaml").is_kept);
}

TEST_F(ManifestCacheTest, IsWholeWhileManyWriteIt) {
  std::vector<fs::path> files;
  for (int i = 0; i < 8; ++i) {
    files.push_back(dir / concat(i, ".yaml"));
    write_file(files.back(), concat("key: value", i, "\n"));
  }
  const auto work = [&](std::size_t begin) {
    for (std::size_t i = 0; i < 20; ++i) {
      ManifestCache cache(options());
      for (std::size_t j = begin; j < begin + 4; ++j)
        EXPECT_EQ(see(cache, files[j]).value, concat("value", j));
      cache.save();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t begin = 0; begin <= 4; ++begin) threads.emplace_back(work, begin);
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(warnings, IsEmpty());
}

KeptManifests two_files(std::string_view values) {
  return {{"/a", {{1, 2, 3, 4, 5}, span_of(values)}}, {"/b", {{6, 7, 8, 9, 10}, {}}}};
}

TEST(KeptManifests, AreReadAsTheyAreWritten) {
  const std::string bytes = to_bytes(two_files("values"));

  const auto kept = read_kept_manifests(span_of(bytes));

  ASSERT_TRUE(kept.ok()) << kept.error().message;
  EXPECT_EQ(to_bytes(*kept), bytes);
  const KeptManifest& first = kept->at("/a");
  EXPECT_EQ(first.stamp, (FileStamp{1, 2, 3, 4, 5}));
  EXPECT_EQ(first.values.size(), 6u);
}

TEST(KeptManifests, RefuseEveryTruncation) {
  const std::string bytes = to_bytes(two_files("values"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read_kept_manifests(span_of(bytes).first(size)).ok())
        << "accepted the first " << size << " bytes";
  }
}

TEST(KeptManifests, RefuseMoreThanTheyState) {
  const auto kept = read_kept_manifests(span_of(to_bytes(KeptManifests()) + "x"));

  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().message, "1 bytes follow the last manifest");
}

TEST(KeptManifests, RefuseACountLargerThanTheFile) {
  const std::string bytes(64, '\1');

  EXPECT_EQ(read_kept_manifests(span_of(bytes)).error().message,
            "manifests: count 72340172838076673, room for 1");
}

TEST(KeptManifests, RefusePathsThatAreNotSorted) {
  std::string bytes = to_bytes(two_files(""));
  bytes[bytes.find("/b") + 1] = 'a';

  EXPECT_EQ(read_kept_manifests(span_of(bytes)).error().message, "path /a follows /a");
}

// discover() with a cache, in a process of its own each time.
class DiscoverWithACache : public ManifestCacheTest {
 protected:
  // lock     [in]   text of a lock file; empty: there is none
  std::vector<Candidate> discovered(const std::string& lock = "") {
    PluginLocations locations;
    locations.host.clear();
    locations.directories = {(dir / "high").string(), (dir / "low").string()};
    SearchResult found = search_plugins(locations);
    ChoiceOptions set;
    if (!lock.empty()) {
      write_file(dir / "plugins.lock", std::string_view(lock));
      set.trust = std::make_shared<const Trust>(
          Trust::open({.trust_file = "", .lock_file = (dir / "plugins.lock").string()}).value());
    }
    ManifestCache cache(options());
    Discovery discovery = discover(found, set, &cache);
    cache.save();
    return std::move(discovery.candidates);
  }
  static ManifestBuilder fake() { return ManifestBuilder().key("fake"); }
};

TEST_F(DiscoverWithACache, AppliesAChangedDropIn) {
  fake().write_to(dir / "high/x.yaml");
  fs::create_directories(dir / "high/x.yaml.d");
  const fs::path drop_in = dir / "high/x.yaml.d/1.yaml";
  write_file(drop_in, std::string_view("priority: 1\n"));
  discovered();
  EXPECT_EQ(discovered()[0].manifest->priority, 1);
  wait_for_tick(drop_in);

  write_file(drop_in, std::string_view("priority: 2\n"));

  const Candidate result = discovered().at(0);
  EXPECT_EQ(result.manifest->priority, 2);
  EXPECT_THAT(result.drop_ins, ElementsAre(drop_in.string()));
}

// The library is beside the real file. Two files that are one inode have the same stamp.
TEST_F(DiscoverWithACache, FollowsALinkThatWasChanged) {
  fake().write_to(dir / "v1/x.yaml");
  fs::create_directories(dir / "v2");
  fs::create_hard_link(dir / "v1/x.yaml", dir / "v2/x.yaml");
  fs::create_directory_symlink("v1", dir / "high");
  fs::create_directories(dir / "low");
  const auto library = [&] { return discovered().at(0).manifest->library_path; };
  EXPECT_EQ(library(), (dir / "v1/libfake.so").string());
  EXPECT_EQ(library(), (dir / "v1/libfake.so").string());

  fs::remove(dir / "high");
  fs::create_directory_symlink("v2", dir / "high");

  EXPECT_EQ(library(), (dir / "v2/libfake.so").string());
}

TEST_F(DiscoverWithACache, MasksAndReplacesAsWithout) {
  fake().write_to(dir / "low/x.yaml");
  fake().write_to(dir / "low/y.yaml");
  fs::create_directories(dir / "high");
  discovered();
  ASSERT_EQ(discovered().size(), 2u);

  write_file(dir / "high/x.yaml", std::string_view(""));
  fake().id("test.other").write_to(dir / "high/y.yaml");

  for (int i = 0; i < 2; ++i) {
    const std::vector<Candidate> all = discovered();
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].manifest->id, "test.other");
    EXPECT_EQ(all[1].reason, reason::masked);
    EXPECT_EQ(all[2].reason, reason::replaced_by);
  }
  // What was masked is parsed again if it is not any more.
  fs::remove(dir / "high/x.yaml");
  EXPECT_EQ(discovered()[1].passed, Step::preferred);
}

TEST_F(DiscoverWithACache, ReportsAnErrorOfAKeptManifestAsWithout) {
  fake().set("version", "\"1\"").write_to(dir / "high/x.yaml");
  fs::create_directories(dir / "low");

  const Candidate parsed = discovered().at(0), kept = discovered().at(0);

  EXPECT_TRUE(fs::exists(cache_file()));
  EXPECT_THAT(parsed.text.text(), HasSubstr("x.yaml:3:10: version: expected "));
  EXPECT_EQ(kept.text.text(), parsed.text.text());
  EXPECT_EQ(kept.reason, parsed.reason);
}

TEST_F(DiscoverWithACache, ComparesTheTextOfAKeptManifestWithItsDigest) {
  const std::string text = fake().text();
  fake().write_to(dir / "high/x.yaml");
  fs::create_directories(dir / "low");
  const auto lock = [](std::string_view locked) {
    return concat("plugins: [{id: test.fake, manifest_sha256: ", hex_text(sha256(span_of(locked))),
                  "}]\n");
  };
  discovered();
  ASSERT_TRUE(fs::exists(cache_file()));

  EXPECT_EQ(discovered(lock(text)).at(0).passed, Step::preferred);
  EXPECT_EQ(discovered(lock("another text")).at(0).reason, reason::lock_mismatch);
}

}  // namespace
}  // namespace gantry
