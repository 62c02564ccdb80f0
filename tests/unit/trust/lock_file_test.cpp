// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/trust/lock_file.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kA(64, 'a');
const std::string kB(64, 'b');

LockEntry npu() {
  return {"acme.npu", "2.3.1", "2.3.1", "/plugins.d/npu.yaml", kA, "/lib/libacme.so", kB};
}

std::vector<std::string> lines(const std::vector<LockDifference>& all) {
  std::vector<std::string> texts;
  for (const LockDifference& one : all) texts.push_back(describe(one).text());
  return texts;
}

TEST(LockFile, IsReadAsItWasWritten) {
  LockEntry gpu = npu();
  gpu.id = "acme.gpu";
  gpu.manifest = "/plugins.d/a \"b\" \\.yaml";

  const std::string text = lock_file_text({npu(), gpu});
  const auto read = parse_lock_file(text, "plugins.lock");

  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->front().manifest, gpu.manifest);
  EXPECT_THAT(differences(*read, {gpu, npu()}), IsEmpty());
  EXPECT_EQ(lock_file_text(*read), text);
}

TEST(LockFile, ListsNoPlugin) {
  const auto read = parse_lock_file(lock_file_text({}), "plugins.lock");

  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(*read, IsEmpty());
}

struct BadLock {
  const char* name;
  std::string text;
  const char* message;
};
class LockFileRefuses : public testing::TestWithParam<BadLock> {};

TEST_P(LockFileRefuses, WithTheLocation) {
  const auto read = parse_lock_file(GetParam().text, "plugins.lock");

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::malformed);
  EXPECT_THAT(read.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Each, LockFileRefuses,
    testing::Values(
        BadLock{"Empty", "# none\n", "plugins.lock:1:1: plugins: required key is missing"},
        BadLock{"NoId", "plugins: [{version: \"1.0.0\"}]\n", "plugins[0].id: "},
        BadLock{"Id", "plugins: [{id: \"a b\"}]\n", "plugins[0].id: expected "},
        BadLock{"Control", "plugins: [{id: a.b, manifest: \"/a\\nb\"}]\n",
                "plugins[0].manifest: expected a path without control characters, found"},
        BadLock{"Digest", "plugins: [{id: a.b, library_sha256: abc}]\n",
                "plugins[0].library_sha256: expected 64 lower-case hexadecimal digits, found"},
        BadLock{"ManifestDigest", "plugins: [{id: a.b, manifest_sha256: abc}]\n",
                "plugins[0].manifest_sha256: expected 64 lower-case hexadecimal digits, found"},
        BadLock{"Version", "plugins: [{id: a.b, min_version: \"1\"}]\n",
                "plugins[0].min_version: expected major.minor.patch"},
        BadLock{"Path", "plugins: [{id: a.b, library: lib.so}]\n",
                "plugins[0].library: expected an absolute path, found"}),
    [](const auto& test) { return test.param.name; });

TEST(LockDifferences, AreAddedRemovedAndChangedPlugins) {
  LockEntry changed = npu(), added = npu(), removed = npu();
  changed.version = "2.3.2";
  changed.library_sha256 = kA;
  added.id = "acme.new";
  removed.id = "acme.old";

  EXPECT_THAT(
      lines(differences({npu(), removed}, {changed, added})),
      ElementsAre("changed acme.npu version: locked 2.3.1, found 2.3.2 (/plugins.d/npu.yaml)",
                  "changed acme.npu library_sha256: locked " + kB + ", found " + kA +
                      " (/plugins.d/npu.yaml)",
                  "added acme.new (/plugins.d/npu.yaml)",
                  "removed acme.old (/plugins.d/npu.yaml)"));
}

TEST(LockDifferences, DistinguishManifestsOfOneId) {
  LockEntry moved = npu();
  moved.manifest = "/other/npu.yaml";

  EXPECT_THAT(
      lines(differences({npu()}, {moved})),
      ElementsAre("added acme.npu (/other/npu.yaml)", "removed acme.npu (/plugins.d/npu.yaml)"));
  EXPECT_THAT(differences({npu(), moved}, {npu(), moved}), IsEmpty());
}

TEST(LockDifferences, OmitFieldsThatTheEntryLacks) {
  const LockEntry any{"acme.npu", "", "2.0.0", "", "", "", ""};
  LockEntry older = npu();
  older.version = "1.9.9";

  EXPECT_THAT(differences({any}, {npu()}), IsEmpty());
  EXPECT_THAT(lines(differences({any}, {older})),
              ElementsAre("changed acme.npu min_version: locked 2.0.0, found 1.9.9 "
                          "(/plugins.d/npu.yaml)"));
}

TEST(LockDifference, IsTheFirstField) {
  LockEntry other = npu();
  EXPECT_FALSE(difference(npu(), other));
  for (const auto& [name, value] :
       {std::pair("manifest", &LockEntry::manifest), std::pair("library", &LockEntry::library),
        std::pair("manifest_sha256", &LockEntry::manifest_sha256)}) {
    other = npu();
    other.*value = "/other";
    ASSERT_TRUE(difference(npu(), other)) << name;
    EXPECT_EQ(difference(npu(), other)->field, name);
  }
}

}  // namespace
}  // namespace gantry
