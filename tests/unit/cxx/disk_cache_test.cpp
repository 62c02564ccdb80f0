// SPDX-License-Identifier: Apache-2.0
#include <gantry/disk_cache.hpp>

#include "tests/support/file_calls.hpp"
#include "tests/support/own_mounts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

using Bytes = std::vector<std::uint8_t>;

class DiskCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "gantry_cache_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  DiskCache::Options options() {
    return {.directory = (root_ / "deep" / "opencl").string(),
            .log = [this](const Message& text) { log_.push_back(text); }};
  }
  std::string file_text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write_text(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  std::size_t file_count() {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(root_ / "deep" / "opencl"), {}));
  }

  fs::path root_;
  std::vector<std::string> log_;
};

TEST_F(DiskCacheTest, ReturnsStoredContent) {
  DiskCache cache(options());
  const Bytes content = {1, 0, 255, 7};

  EXPECT_EQ(cache.load("key"), std::nullopt);
  EXPECT_TRUE(cache.store("key", content));

  EXPECT_EQ(DiskCache(options()).load("key"), content);
  EXPECT_EQ(cache.load("other"), std::nullopt);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(DiskCacheTest, OpensAFileThatBeginsWithTheContent) {
  DiskCache cache(options());
  // More than is read at once.
  Bytes content(200'000, 7);
  content.back() = 9;
  EXPECT_FALSE(cache.open("key"));
  EXPECT_TRUE(cache.store("key", content));

  const Descriptor file = cache.open("key");

  ASSERT_TRUE(file);
  Bytes found(content.size());
  EXPECT_EQ(pread(file.get(), found.data(), found.size(), 0), static_cast<ssize_t>(found.size()));
  EXPECT_EQ(found, content);
  EXPECT_EQ(cache.load("key"), content);
  EXPECT_FALSE(cache.open("other"));
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(DiskCacheTest, StoresAnEmptyContent) {
  DiskCache cache(options());

  EXPECT_TRUE(cache.store("key", {}));

  EXPECT_EQ(cache.load("key"), Bytes{});
}

TEST_F(DiskCacheTest, ReplacesTheContentOfAKey) {
  DiskCache cache(options());
  cache.store("key", Bytes{1, 2, 3});

  cache.store("key", Bytes{4});

  EXPECT_EQ(cache.load("key"), Bytes{4});
  EXPECT_EQ(file_count(), 1u) << "nothing is left beside the file";
}

TEST_F(DiskCacheTest, CreatesItsDirectoryForThisUserOnly) {
  DiskCache cache(options());

  cache.store("key", Bytes{1});

  struct stat is;
  ASSERT_EQ(stat(cache.directory().c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777u, 0700u);
}

TEST_F(DiskCacheTest, DistinguishesListsOfParts) {
  EXPECT_NE(DiskCache::key({"ab", "c"}), DiskCache::key({"a", "bc"}));
  EXPECT_NE(DiskCache::key({"a", ""}), DiskCache::key({"a"}));
  EXPECT_EQ(DiskCache::key({"a", "b"}), DiskCache::key({"a", "b"}));
}

TEST_F(DiskCacheTest, IgnoresAFileWithAnyByteChanged) {
  DiskCache cache(options());
  cache.store("key", Bytes{10, 20, 30});
  const std::string path = cache.path_of("key");
  const std::string whole = file_text(path);

  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x20);
    write_text(path, changed);
    log_.clear();

    EXPECT_EQ(cache.load("key"), std::nullopt) << "byte " << i;
    ASSERT_EQ(log_.size(), 1u) << "byte " << i;
    EXPECT_THAT(log_[0], HasSubstr("cache file " + path + " is ignored: "));
  }
}

TEST_F(DiskCacheTest, IgnoresTruncatedAndExtendedFiles) {
  DiskCache cache(options());
  cache.store("key", Bytes{10, 20, 30});
  const std::string path = cache.path_of("key");
  const std::string whole = file_text(path);

  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_text(path, whole.substr(0, size));
    EXPECT_EQ(cache.load("key"), std::nullopt) << "the first " << size << " bytes";
  }
  write_text(path, whole + "x");
  log_.clear();
  EXPECT_EQ(cache.load("key"), std::nullopt);
  EXPECT_THAT(log_, ElementsAre("cache file " + path + " is ignored: magic is not GTRYCCH2"));
}

TEST_F(DiskCacheTest, IgnoresTheFileOfAnotherKey) {
  DiskCache cache(options());
  cache.store("key", Bytes{1});
  fs::rename(cache.path_of("key"), cache.path_of("other"));

  EXPECT_EQ(cache.load("other"), std::nullopt);
  EXPECT_THAT(log_, ElementsAre("cache file " + cache.path_of("other") +
                                " is ignored: it contains another key"));
}

TEST_F(DiskCacheTest, IgnoresAFileThatOthersCanWrite) {
  DiskCache cache(options());
  cache.store("key", Bytes{1});
  for (const mode_t mode : {0620u, 0602u, 0666u}) {
    log_.clear();
    ASSERT_EQ(chmod(cache.path_of("key").c_str(), mode), 0);

    EXPECT_EQ(cache.load("key"), std::nullopt);

    EXPECT_THAT(log_, ElementsAre("cache file " + cache.path_of("key") +
                                  " is ignored: another user can write it"));
  }
}

TEST_F(DiskCacheTest, IgnoresAFileOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  DiskCache cache(options());
  cache.store("key", Bytes{1});
  ASSERT_EQ(chown(cache.path_of("key").c_str(), 12345, 12345), 0);

  EXPECT_EQ(cache.load("key"), std::nullopt);

  EXPECT_THAT(log_, ElementsAre(EndsWith(" is ignored: another user can write it")));
}

// The content is on the disk before its name is.
TEST_F(DiskCacheTest, IsNotUsedWhereOthersCanReplaceADirectory) {
  DiskCache(options()).store("key", Bytes{1});
  fs::permissions(root_ / "deep", fs::perms::group_write | fs::perms::others_write,
                  fs::perm_options::add);
  DiskCache cache(options());

  EXPECT_EQ(cache.load("key"), std::nullopt);
  EXPECT_FALSE(cache.store("other", Bytes{2}));
  cache.remove("key");

  EXPECT_EQ(file_count(), 1u);
  const std::string deep = (root_ / "deep").string();
  EXPECT_THAT(log_, ElementsAre(concat("cache directory ", deep, "/opencl is not used: directory ",
                                       deep, ", on the path of ", deep,
                                       "/opencl, has mode 0722 (owner uid ", geteuid(),
                                       "), and others than its owner may write to it: chmod go-w "
                                       "it")));
}

TEST_F(DiskCacheTest, IsNotUsedInADirectoryOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can change owners";
  fs::create_directories(root_ / "deep");
  fs::permissions(root_ / "deep", fs::perms::all);
  ASSERT_EQ(chown((root_ / "deep").c_str(), 12345, 12345), 0);

  EXPECT_FALSE(DiskCache(options()).store("key", Bytes{1}));

  EXPECT_TRUE(fs::is_empty(root_ / "deep"));
  EXPECT_THAT(log_, ElementsAre(HasSubstr(" is owned by uid 12345 (mode 0777), trusted is uid 0: "
                                          "change its owner")));
}

TEST_F(DiskCacheTest, IsDeniedWhereThisUserCannotWrite) {
  const std::string place = (root_ / "place").string();
  std::filesystem::create_directory(place);
  std::ofstream(place + "/file") << "x";
  const auto is_denied = [](const std::string& path) {
    return CacheDirectory(path, ".cache").is_denied();
  };
  EXPECT_FALSE(is_denied(place));
  EXPECT_FALSE(is_denied(place + "/a/b"));
  // An error that is reported when it is used.
  EXPECT_FALSE(is_denied(place + "/file"));
  EXPECT_FALSE(is_denied(place + "/file/b"));

  test::expect_with_mount(place, MS_RDONLY, [&]() -> std::string {
    if (!is_denied(place)) return "the directory is not denied";
    return is_denied(place + "/a/b") ? "" : "the missing directory is not denied";
  });
}

TEST_F(DiskCacheTest, WritesAFileBeforeItsName) {
  DiskCache cache(options());
  test::file_calls = {.records = true};

  const bool stored = cache.store("key", Bytes{1});

  const std::vector<std::string> calls = std::exchange(test::file_calls, {}).list;
  EXPECT_TRUE(stored);
  EXPECT_THAT(calls, ElementsAre(EndsWith(".cache.tmp"), "rename"));
}

TEST_F(DiskCacheTest, LeavesNothingOfAFileThatCannotBeWritten) {
  DiskCache cache(options());
  test::file_calls = {.records = true, .fsync_fails = true};

  const bool stored = cache.store("key", Bytes{1});

  test::file_calls = {};
  EXPECT_FALSE(stored);
  EXPECT_EQ(file_count(), 0u);
  EXPECT_THAT(log_, ElementsAre(EndsWith(" cannot be written: Input/output error")));
}

TEST_F(DiskCacheTest, IgnoresALinkAndADirectory) {
  DiskCache cache(options());
  cache.store("key", Bytes{1});
  fs::create_symlink(cache.path_of("key"), cache.path_of("link"));
  fs::create_directory(cache.path_of("directory"));

  EXPECT_EQ(cache.load("link"), std::nullopt);
  EXPECT_EQ(cache.load("directory"), std::nullopt);
  EXPECT_EQ(log_.size(), 2u);
}

TEST_F(DiskCacheTest, ReadsNoFileLargerThanItWrites) {
  DiskCache cache(options());
  cache.store("key", Bytes(100));
  DiskCache::Options narrow = options();
  narrow.max_file_bytes = 50;

  EXPECT_EQ(DiskCache(narrow).load("key"), std::nullopt);
  EXPECT_THAT(log_, ElementsAre(HasSubstr("size is 135, maximum is 85")));
}

TEST_F(DiskCacheTest, DoesNotStoreContentThatIsTooLarge) {
  DiskCache::Options narrow = options();
  narrow.max_file_bytes = 3;
  DiskCache cache(narrow);

  EXPECT_FALSE(cache.store("key", Bytes(4)));
  EXPECT_TRUE(cache.store("key", Bytes(3)));
  EXPECT_EQ(cache.load("key"), Bytes(3)) << "what is stored can be loaded";
}

TEST_F(DiskCacheTest, LogsOnceThatTheDirectoryCannotBeWritten) {
  write_text((root_ / "deep").string(), "a file where the directory should be");
  DiskCache cache(options());

  EXPECT_FALSE(cache.store("key", Bytes{1}));
  EXPECT_FALSE(cache.store("key", Bytes{1}));

  EXPECT_EQ(cache.load("key"), std::nullopt);
  EXPECT_THAT(log_, ElementsAre("cache file " + cache.path_of("key") +
                                " cannot be written: Not a directory"));
}

TEST_F(DiskCacheTest, DoesNothingWithoutADirectory) {
  DiskCache cache({});

  EXPECT_FALSE(cache.store("key", Bytes{1}));
  EXPECT_EQ(cache.load("key"), std::nullopt);
  cache.remove("key");
}

TEST_F(DiskCacheTest, RemovesAContent) {
  DiskCache cache(options());
  cache.store("key", Bytes{1});

  cache.remove("key");

  EXPECT_EQ(cache.load("key"), std::nullopt);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(DiskCacheTest, RemovesTheOldestFilesAboveTheLimit) {
  DiskCache::Options narrow = options();
  narrow.max_bytes = 300;
  DiskCache cache(narrow);
  const auto now = fs::file_time_type::clock::now();
  cache.store("a", Bytes(100));
  fs::last_write_time(cache.path_of("a"), now - std::chrono::minutes(1));
  cache.store("b", Bytes(100));
  fs::last_write_time(cache.path_of("b"), now - std::chrono::minutes(2));
  write_text(cache.directory() + "/note.txt", std::string(1000, 'x'));

  cache.store("c", Bytes(100));

  EXPECT_NE(cache.load("a"), std::nullopt);
  EXPECT_EQ(cache.load("b"), std::nullopt);
  EXPECT_NE(cache.load("c"), std::nullopt);
  EXPECT_TRUE(fs::exists(cache.directory() + "/note.txt")) << "what is not ours stays";
}

TEST_F(DiskCacheTest, KeepsAllFilesUpToTheLimit) {
  DiskCache::Options narrow = options();
  // of one file
  const std::uint64_t size = 100 + 1 + 8 + 8 + 8 + 8;
  narrow.max_bytes = 2 * size;
  DiskCache cache(narrow);
  cache.store("a", Bytes(100));
  cache.store("b", Bytes(100));
  EXPECT_EQ(file_count(), 2u);

  narrow.max_bytes = 2 * size - 1;
  DiskCache(narrow).store("b", Bytes(100));

  EXPECT_EQ(file_count(), 1u);
}

TEST_F(DiskCacheTest, RemovesOldTemporaryFiles) {
  DiskCache cache(options());
  cache.store("a", Bytes{1});
  const std::string old = cache.directory() + "/aaaaaa.cache.tmp";
  const std::string fresh = cache.directory() + "/bbbbbb.cache.tmp";
  write_text(old, "half");
  write_text(fresh, "half");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::minutes(61));
  fs::last_write_time(fresh, fs::file_time_type::clock::now() - std::chrono::minutes(59));

  cache.store("b", Bytes{1});

  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
}

TEST_F(DiskCacheTest, CanBeReadWhileItIsWritten) {
  DiskCache cache(options());
  cache.store("key", Bytes(5000, 1));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) cache.store("key", Bytes(5000, static_cast<std::uint8_t>(i)));
    stop = true;
  });

  std::size_t reads = 0;
  bool whole = true;
  while (!stop) {
    const auto content = DiskCache({.directory = cache.directory()}).load("key");
    whole = whole && content && content->size() == 5000 &&
            std::adjacent_find(content->begin(), content->end(), std::not_equal_to<>()) ==
                content->end();
    ++reads;
  }
  writer.join();

  EXPECT_TRUE(whole);
  EXPECT_GT(reads, 0u);
}

}  // namespace
}  // namespace gantry
