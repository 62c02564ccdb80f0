// SPDX-License-Identifier: Apache-2.0
#include "core/formats/archive/tar_files.hpp"

#include "tests/support/files.hpp"
#include "tests/support/tar_bytes.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using namespace std::literals;

Result<TarFiles> files_of(const std::string& archive, const TarLimits& limits = {}) {
  static std::vector<std::uint8_t> bytes;
  bytes = test::bytes_of_text(archive);
  return TarFiles::read(bytes, limits);
}

TEST(TarFiles, AreFoundByTheirNormalizedNames) {
  const auto files = files_of(test::tar_file("./b/x.o", "1") + test::tar_file("b//./a.o", "22") +
                              test::tar_file("metadata.json", "{}") + test::tar_file("...", ""));

  ASSERT_TRUE(files.ok()) << files.error().message;
  ASSERT_NE(files->find("b/x.o"), nullptr);
  EXPECT_EQ(files->find("b/x.o")->size, 1u);
  EXPECT_EQ(files->find("b/x.o")->name, "b/x.o");
  EXPECT_EQ(files->find("./b/x.o"), nullptr);
  EXPECT_THAT(files->names_below("b/"), ElementsAre("b/a.o", "b/x.o"));
  EXPECT_THAT(files->names_below("c/"), ElementsAre());
  EXPECT_TRUE(files->has_below("b/"));
  EXPECT_FALSE(files->has_below("c/"));
}

TEST(TarFiles, ReadsGoldenArchives) {
  const auto bytes = test::read_file(test::golden("tvm-0.12/digits_cpp_graph_c.tar"));

  const auto files = TarFiles::read(bytes);

  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_THAT(files->names_below(""),
              ElementsAre("codegen/host/src/digits_lib0.c", "executor-config/graph/digits.graph",
                          "metadata.json", "parameters/digits.params", "src/digits.relay"));
}

TEST(TarFiles, ContainAFileWhateverFollowsIt) {
  const auto bytes = test::bytes_of_text(test::tar_file("../a", "") + test::tar_file("b//c", "1") +
                                         std::string(512, 'x'));

  EXPECT_TRUE(TarFiles::contain(bytes, "b/c"));
  EXPECT_FALSE(TarFiles::contain(bytes, "a"));
  EXPECT_FALSE(TarFiles::contain(bytes, "b"));
  EXPECT_TRUE(TarFiles::contain(bytes, "b/c", {.members = 2}));
  EXPECT_FALSE(TarFiles::contain(bytes, "b/c", {.members = 1}));
}

struct Hostile {
  std::string title;
  // follows one regular file of a block
  std::string member;
  std::string message;
};

class TarFilesRefuse : public ::testing::TestWithParam<Hostile> {};

TEST_P(TarFilesRefuse, AMember) {
  const auto files = files_of(test::tar_file("a", "") + GetParam().member);

  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code, Code::malformed);
  EXPECT_EQ(files.error().offset, 512u);
  EXPECT_EQ(files.error().message, GetParam().message);
}

std::string special(char type) { return test::tar_header("b", "0", type); }
constexpr const char* regular = ", expected regular files and directories";

INSTANTIATE_TEST_SUITE_P(
    Hostile, TarFilesRefuse,
    ::testing::Values(
        Hostile{"Absolute", test::tar_file("/etc/passwd", ""),
                "member \"/etc/passwd\" is absolute, expected a relative name"},
        Hostile{"Parent", test::tar_file("x/../../y", ""),
                "member \"x/../../y\" leaves the archive by \"..\""},
        Hostile{"ParentAtTheEnd", test::tar_file("x/..", ""),
                "member \"x/..\" leaves the archive by \"..\""},
        Hostile{"NoName", test::tar_file("./", ""), "member \"./\" is a file without a file name"},
        Hostile{"OnlyADot", test::tar_file(".", ""), "member \".\" is a file without a file name"},
        Hostile{"DirectoryName", test::tar_file("b/", ""),
                "member \"b/\" is a file without a file name"},
        Hostile{"Twice", test::tar_file("./a", ""), "member \"a\" occurs twice"},
        Hostile{"HardLink", special('1'), concat("member \"b\" is a hard link", regular)},
        Hostile{"SymbolicLink", special('2'), concat("member \"b\" is a symbolic link", regular)},
        Hostile{"CharacterDevice", special('3'),
                concat("member \"b\" is a character device", regular)},
        Hostile{"BlockDevice", special('4'), concat("member \"b\" is a block device", regular)},
        Hostile{"Fifo", special('6'), concat("member \"b\" is a FIFO", regular)},
        Hostile{"Sparse", special('S'), concat("member \"b\" is a sparse file", regular)},
        Hostile{"Unknown", special('V'),
                concat("member \"b\" is a member of an unknown type", regular)}),
    [](const auto& test) { return test.param.title; });

TEST(TarFiles, RefuseANulInAPaxPath) {
  const auto files = files_of(test::tar_header("pax", "14", 'x') +
                              test::tar_block("12 path=a\0b\n"sv) + test::tar_file("c", ""));

  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().message, "member \"a\\x00b\" has a NUL in its name");
}

TEST(TarFiles, AreLimited) {
  const std::string archive = test::tar_file("a", "") + test::tar_file("bcd", "");
  EXPECT_TRUE(files_of(archive, {.members = 2, .name_bytes = 3}).ok());

  const auto many = files_of(archive, {.members = 1});
  const auto long_name = files_of(archive, {.name_bytes = 2});

  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().message, "archive has more than 1 members");
  ASSERT_FALSE(long_name.ok());
  EXPECT_EQ(long_name.error().message, "member name has 3 bytes, limit is 2");
  EXPECT_EQ(long_name.error().offset, 512u);
}

}  // namespace
}  // namespace gantry
