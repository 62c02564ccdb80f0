// SPDX-License-Identifier: Apache-2.0
#include "core/writing/tar_archive.hpp"

#include "core/base/text.hpp"
#include "core/formats/archive/tar_files.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <gantry/quoted.hpp>

#include <gmock/gmock.h>

#include <cstdlib>

namespace gantry {
namespace {

using ::testing::ElementsAre;

Pieces text_pieces(std::string_view text) {
  Pieces pieces;
  pieces.Write(text.data(), text.size());
  return pieces;
}

TarContents contents_of(std::initializer_list<std::pair<std::string, std::string>> files) {
  TarContents contents;
  for (const auto& [name, text] : files) contents.emplace(name, text_pieces(text));
  return contents;
}

Result<Pieces> tar_of_name(const std::string& name) { return write_tar(contents_of({{name, ""}})); }

TEST(TarArchive, HasTheseBytes) {
  const auto archive = write_tar(contents_of({{"b/c.txt", "hello"}}));

  ASSERT_TRUE(archive.ok());
  std::string expected(2048, '\0');
  expected.replace(0, 7, "b/c.txt");
  expected.replace(100, 7, "0000644");
  expected.replace(108, 7, "0000000");
  expected.replace(116, 7, "0000000");
  expected.replace(124, 11, "00000000005");
  expected.replace(136, 11, "00000000000");
  expected.replace(148, 6, "007144");
  expected.replace(155, 1, " ");
  expected.replace(156, 1, "0");
  expected.replace(257, 5, "ustar");
  expected.replace(263, 2, "00");
  expected.replace(512, 5, "hello");
  EXPECT_TRUE(as_text(test::bytes_of(*archive)) == expected);
}

TEST(TarArchive, IsReadBackSortedWithLongNames) {
  const std::string directory(155, 'd'), file(100, 'f');
  const auto archive = write_tar(
      contents_of({{"z", std::string(512, 'z')}, {directory + "/" + file, "x"}, {"a", ""}}));
  ASSERT_TRUE(archive.ok()) << archive.error().message;

  const auto bytes = test::bytes_of(*archive);
  const auto files = TarFiles::read(bytes);

  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_THAT(files->names_below(""), ElementsAre("a", directory + "/" + file, "z"));
  EXPECT_EQ(files->find("z")->size, 512u);
  EXPECT_EQ(archive->size() % 512, 0u);
}

TEST(TarArchive, IsReadByGnuTar) {
  const test::TempDir directory;
  test::write_file(directory / "x.tar",
                   test::bytes_of(*write_tar(contents_of({{"a/b", "1"}, {"c", "22"}}))));

  const std::string command = "cd " + directory.path().native() +
                              " && tar xf x.tar && cat a/b c >out && test $(stat -c %a c) = 644";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(as_text(test::read_file(directory / "out")), "122");
}

TEST(TarArchive, RefusesNamesThatDoNotFit) {
  EXPECT_TRUE(tar_of_name(std::string(100, 'a')).ok());
  for (const std::string& name :
       {std::string(), std::string("a/"), std::string(101, 'a'), "/" + std::string(100, 'a'),
        std::string(156, 'd') + "/a", "d/" + std::string(101, 'f')}) {
    const auto archive = tar_of_name(name);

    ASSERT_FALSE(archive.ok()) << name;
    EXPECT_EQ(archive.error().code, Code::invalid);
    EXPECT_EQ(archive.error().message,
              concat("member name ", quoted(name),
                     " does not fit in a tar header: maximum is 100 bytes, or 155 and 100 divided "
                     "by \"/\""));
  }
}

// 9 GiB do not fit in the octal field of a header. Nothing of them is made here.
TEST(TarArchive, StoresLargeSizesAsGnuTarDoes) {
  TarContents contents;
  contents["a"].append(MadeBytes{std::uint64_t{9} << 30, []() -> Result<std::vector<std::uint8_t>> {
                                   return unavailable("not made");
                                 }});
  const auto archive = write_tar(std::move(contents));
  ASSERT_TRUE(archive.ok());

  Pieces written;
  EXPECT_FALSE(archive->write_to(written).ok());

  EXPECT_EQ(as_text(test::bytes_of(written)).substr(124, 12),
            std::string("\x80\0\0\0\0\0\0\2\x40\0\0\0", 12));
}

}  // namespace
}  // namespace gantry
