// SPDX-License-Identifier: Apache-2.0
#include "core/formats/archive/archive_members.hpp"

#include "tests/support/files.hpp"
#include "tests/support/tar_bytes.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::bytes_of_text;
using test::tar_block;
using test::tar_file;
using test::tar_header;
using test::with_checksum;
using namespace std::literals;

std::string ar_header(std::string_view name, std::string_view size) {
  std::string header(60, ' ');
  header.replace(0, name.size(), name);
  header.replace(48, size.size(), size);
  header.replace(58, 2, "`\n");
  return header;
}

std::string listed(const Result<std::vector<ArchiveMember>>& members) {
  if (!members.ok()) return members.error().message;
  std::string text;
  for (const ArchiveMember& m : members.value()) text += concat(m.name, ":", m.size, " ");
  return text;
}

TEST(ArMembers, AreListedWithLongNamesAndWithoutTables) {
  const std::string archive = "!<arch>\n" + ar_header("/", "4") + "\0\0\0\0"s +
                              ar_header("//", "22") + "a_very_long_name.cpp.o/\n"s.substr(0, 22) +
                              ar_header("a.o/", "3") + "abc\n" + ar_header("/0", "2") + "xy" +
                              ar_header("#1/4", "6") + "b.o\0zz"s;

  EXPECT_EQ(listed(read_ar_members(bytes_of_text(archive))),
            "a.o:3 a_very_long_name.cpp.o:2 b.o:2 ");
}

TEST(ArMembers, RejectAnInvalidHeader) {
  EXPECT_EQ(listed(read_ar_members(bytes_of_text("!<arch>\n" + std::string(60, 'x')))),
            "archive member 0 has an invalid header");
  EXPECT_EQ(listed(read_ar_members(bytes_of_text("!<arch>\n" + ar_header("a.o/", "9") + "abc"))),
            "archive member: needs 9 bytes, 3 bytes left");
  EXPECT_EQ(listed(read_ar_members(bytes_of_text("!<arch>\n" + ar_header("/7", "0")))),
            "archive member name \"/7\" is not in the name table of 0 bytes");
  EXPECT_EQ(listed(read_ar_members(bytes_of_text("!<arch>\n" + ar_header("#1/7", "2") + "ab"))),
            "archive member name \"#1/7\" has an invalid length, the member has 2 bytes");
}

// The tables are no members.
TEST(ArMembers, AreLimited) {
  const std::string archive = "!<arch>\n" + ar_header("/", "0") + ar_header("//", "0") +
                              ar_header("a/", "0") + ar_header("b/", "0");
  EXPECT_TRUE(read_ar_members(bytes_of_text(archive), 2).ok());

  const auto members = read_ar_members(bytes_of_text(archive), 1);

  ASSERT_FALSE(members.ok());
  EXPECT_EQ(members.error().code, Code::malformed);
  EXPECT_EQ(members.error().message, "archive has more than 1 members");
  EXPECT_EQ(members.error().offset, 8u + 3 * 60);
}

TEST(ArMembers, AreAtMost65536IfNoLimitIsGiven) {
  std::string archive = "!<arch>\n";
  const std::string member = ar_header("a/", "0");
  for (std::uint64_t i = 0; i < max_archive_members; ++i) archive += member;

  EXPECT_EQ(read_ar_members(bytes_of_text(archive)).value().size(), 65536u);
  const auto more = read_ar_members(bytes_of_text(archive + member));

  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().offset, 8u + 65536u * 60);
  EXPECT_EQ(more.error().message, "archive has more than 65536 members");
}

TEST(TarMembers, AreFilesAndLinksWithFullNames) {
  const std::string archive = tar_header("dir/", "0", '5') + tar_header("c.txt", "5", '0', "a/b") +
                              tar_block("hello") + tar_header("././@LongLink", "14", 'L') +
                              tar_block("long/name.o\0"sv) + tar_header("long/na", "1") +
                              tar_block("x") + tar_header("pax", "21", 'x') +
                              tar_block("17 path=p/q/r.py\n") + tar_header("p", "0") +
                              tar_header("link", "0", '2') + std::string(1024, '\0');

  EXPECT_EQ(listed(read_tar_members(bytes_of_text(archive))),
            "a/b/c.txt:5 long/name.o:1 p/q/r.py:0 link:0 ");
}

// Returns the special members, each with its noun.
std::string special_members(const std::string& archive) {
  std::string text;
  const auto members = read_tar_members(bytes_of_text(archive));
  if (!members.ok()) return std::string(members.error().message.text());
  for (const ArchiveMember& one : *members)
    if (!one.special.empty()) text += concat(one.name, ": ", one.special, "\n");
  return text;
}

TEST(TarMembers, AreRegularOrHaveANoun) {
  std::string archive;
  for (const char type : {'0', '1', '2', '3', '4', '5', '6', '7', 'S', 'V', 'g'})
    archive += tar_header(std::string(1, type), "0", type);

  EXPECT_EQ(special_members(archive),
            "1: hard link\n2: symbolic link\n3: character device\n4: block device\n6: FIFO\n"
            "S: sparse file\nV: member of an unknown type\n");
  EXPECT_EQ(listed(read_tar_members(bytes_of_text(tar_header("a", "3", '7') + tar_block("abc")))),
            "a:3 ");
}

// As `tar --sparse` writes them with --format=gnu and --format=posix.
TEST(TarMembers, AreSparseInBothFormatsOfGnuTar) {
  // More holes than a header describes: two blocks follow it.
  std::string old_format = tar_header("a", "3", 'S');
  old_format[482] = 1;
  std::string extension(512, 'x'), last(512, 'x');
  extension[504] = 1;
  last[504] = '\0';
  EXPECT_EQ(special_members(with_checksum(old_format) + extension + last + tar_block("abc") +
                            tar_header("b", "0", '2')),
            "a: sparse file\nb: symbolic link\n");

  const std::string records =
      "22 GNU.sparse.major=1\n21 GNU.sparse.name=a\n26 path=GNUSparseFile.0/a\n";
  EXPECT_EQ(special_members(tar_header("pax", "105", 'x') + tar_block(records) +
                            tar_header("GNUSparseFile.0/a", "3") + tar_block("abc") +
                            tar_header("b", "0")),
            "a: sparse file\n");
}

// GNU tar writes the target of a link before the link's name.
TEST(TarMembers, KeepALongNameBesideALongTarget) {
  EXPECT_EQ(listed(read_tar_members(
                bytes_of_text(tar_header("././@LongLink", "12", 'L') + tar_block("long/name\0"sv) +
                              tar_header("././@LongLink", "7", 'K') + tar_block("target\0"sv) +
                              tar_header("long/na", "0", '2')))),
            "long/name:0 ");
}

// In both formats, a long name is that of the next member, whatever its type.
TEST(TarMembers, TakeTheLongNameOfTheMemberBeforeForThatMemberOnly) {
  const std::string gnu_name = tar_header("././@LongLink", "12", 'L') + tar_block("long/name\0"sv);
  const std::string pax_name = tar_header("pax", "21", 'x') + tar_block("17 path=p/q/r.py\n");
  const std::string files = tar_header("a.txt", "1") + tar_block("a") + tar_file("b.txt", "b");

  for (const std::string& name : {gnu_name, pax_name}) {
    const std::string full = name == gnu_name ? "long/na" : "p/q/r.py";
    EXPECT_EQ(listed(read_tar_members(bytes_of_text(name + tar_header("dir/", "0", '5') + files))),
              "a.txt:1 b.txt:1 ");
    for (const char type : {'0', '1', '2', '3', 'V'}) {
      EXPECT_THAT(
          listed(read_tar_members(bytes_of_text(name + tar_header("cut", "0", type) + files))),
          ::testing::EndsWith(":0 a.txt:1 b.txt:1 "))
          << type;
    }
    // A directory between a file and its name.
    EXPECT_EQ(listed(read_tar_members(bytes_of_text(name + tar_header("cut", "0") +
                                                    tar_header("dir/", "0", '5') + files))),
              concat(name == gnu_name ? "long/name" : full, ":0 a.txt:1 b.txt:1 "));
  }
}

// So is a size, and what is sparse.
TEST(TarMembers, TakeTheRecordsOfADirectoryForItOnly) {
  const std::string size = tar_header("pax", "11", 'x') + tar_block("9 size=0\n");
  const std::string sparse = tar_header("pax", "26", 'x') + tar_block("22 GNU.sparse.major=1\n");
  const std::string file = tar_file("a.txt", "abc");

  for (const std::string& records : {size, sparse}) {
    const std::string archive = records + tar_header("dir/", "0", '5') + file;
    EXPECT_EQ(listed(read_tar_members(bytes_of_text(archive))), "a.txt:3 ");
    EXPECT_EQ(special_members(archive), "");
  }
}

// The content of a member that fills its last block is followed by the next header.
TEST(TarMembers, HaveContentUpToTheEndOfABlock) {
  for (const std::size_t size : {511, 512, 513, 1023, 1024, 1025}) {
    EXPECT_EQ(listed(read_tar_members(
                  bytes_of_text(tar_file("a", std::string(size, 'x')) + tar_file("b", "y")))),
              concat("a:", size, " b:1 "));
  }
}

TEST(TarMembers, RejectAWrongChecksumAnInvalidSizeAndATruncation) {
  std::string wrong = tar_header("a", "0");
  wrong[0] = 'b';
  EXPECT_THAT(listed(read_tar_members(bytes_of_text(wrong))),
              ::testing::StartsWith("tar header checksum is "));
  EXPECT_EQ(
      listed(read_tar_members(bytes_of_text(tar_header("a", "9z")))),
      "tar member size is \"9z\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\", expected an "
      "octal number or 64 bits");
  EXPECT_EQ(listed(read_tar_members(bytes_of_text(tar_header("a", "12") + "abc"))),
            "tar member: needs 10 bytes, 3 bytes left");
  EXPECT_EQ(listed(read_tar_members(bytes_of_text(tar_header("a", "777777777", 'L')))),
            "tar name record has 134217727 bytes, limit is 65536");
}

// Returns what a visit reports, with its error at the end.
std::string visited(const std::function<Status(const VisitMember&)>& visit) {
  std::string text;
  const Status done = visit([&](const ArchiveMember& member) -> Result<bool> {
    text += concat(member.name, ":", member.size, ":", member.special, "@", member.at, " ");
    return true;
  });
  return done.ok() ? text : concat(text, done.error().offset, " ", done.error().message.text());
}

// At every length, with pieces that divide headers and names.
TEST(TarMembers, AreTheSameInAStream) {
  const std::string archive = tar_header("dir/", "0", '5') + tar_header("c.txt", "5", '0', "a/b") +
                              tar_block("hello") + tar_header("././@LongLink", "14", 'L') +
                              tar_block("long/name.o\0"sv) + tar_header("long/na", "1") +
                              tar_block("x") + tar_header("pax", "21", 'x') +
                              tar_block("17 path=p/q/r.py\n") + tar_header("p", "0") +
                              tar_header("link", "0", '2') + std::string(1024, '\0');
  for (std::size_t size = 0; size <= archive.size(); size += 37) {
    const std::vector<std::uint8_t> whole = bytes_of_text(archive.substr(0, size));
    const std::span<const std::uint8_t> bytes(whole);
    auto left = bytes;
    const ReadPiece read = [&](std::span<std::uint8_t> piece) -> Result<std::size_t> {
      const std::size_t got = std::min({piece.size(), left.size(), std::size_t{100}});
      std::copy_n(left.begin(), got, piece.begin());
      left = left.subspan(got);
      return got;
    };

    EXPECT_EQ(visited([&](const VisitMember& visit) { return visit_tar_stream(read, visit); }),
              visited([&](const VisitMember& visit) { return visit_tar_members(bytes, visit); }))
        << size;
  }
}

TEST(TarMembers, ListsAllMembersOfAModelLibrary) {
  const auto members =
      read_tar_members(test::read_file(test::golden("tvm-0.12/digits_cpp_aot_llvm.tar")));

  EXPECT_EQ(listed(members),
            "./codegen/host/lib/digits_lib0.o:62872 ./codegen/host/lib/digits_lib1.o:2464 "
            "./metadata.json:1952 ./parameters/digits.params:32 ./src/digits.relay:482 ");
}

TEST(TarMembers, HaveTheSizeOfThePaxRecord) {
  const std::string records = "10 size=5\n";
  const std::string archive = tar_header("pax", "12", 'x') + tar_block(records) +
                              tar_header("a", "0") + tar_block("hello") + tar_file("b", "xy");

  EXPECT_EQ(listed(read_tar_members(bytes_of_text(archive))), "a:5 b:2 ");
}

TEST(TarMembers, HaveASizeOf64BitsInGnuFormat) {
  std::string header = tar_header("a", "");
  header.replace(124, 12, "\x80\0\0\0\0\0\0\0\0\0\0\x03"sv);
  EXPECT_EQ(listed(read_tar_members(bytes_of_text(with_checksum(header) + tar_block("abc")))),
            "a:3 ");

  header[127] = 1;
  EXPECT_EQ(listed(read_tar_members(bytes_of_text(with_checksum(header) + tar_block("abc")))),
            "tar member size is \"\\x80\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x03\", "
            "expected an octal number or 64 bits");
}

TEST(TarMembers, RejectAnInvalidPaxRecord) {
  struct Case {
    std::string_view records, message;
    std::uint64_t at;
  };
  const Case cases[] = {
      {"99 path=a\n", "pax record of length \"99\" does not end inside the 10 bytes left", 512},
      {"9 path=a\nb", "pax record of length \"b\" does not end inside the 1 bytes left", 521},
      {"2 path=a\n", "pax record of length \"2\" does not end inside the 9 bytes left", 512},
      {"8 path=a\n", "pax record of length \"8\" does not end inside the 9 bytes left", 512},
      {"10 size=x\n", "pax record is \"size=x\", expected a number", 512}};
  for (const Case& one : cases) {
    char size[8];
    std::snprintf(size, sizeof size, "%o", static_cast<unsigned>(one.records.size()));

    const auto members = read_tar_members(
        bytes_of_text(tar_header("pax", size, 'x') + tar_block(one.records) + tar_file("a", "")));

    ASSERT_FALSE(members.ok()) << one.records;
    EXPECT_EQ(members.error().message, one.message);
    EXPECT_EQ(members.error().offset, one.at);
  }
}

TEST(TarMembers, AreLimited) {
  const std::string archive = tar_file("a", "") + tar_file("b", "");
  EXPECT_TRUE(read_tar_members(bytes_of_text(archive), 2).ok());

  const auto members = read_tar_members(bytes_of_text(archive), 1);

  ASSERT_FALSE(members.ok());
  EXPECT_EQ(members.error().message, "archive has more than 1 members");
  EXPECT_EQ(members.error().offset, 512u);
}

TEST(TarMembers, AreAtMost65536IfNoLimitIsGiven) {
  std::string archive;
  const std::string member = tar_header("a", "0");
  for (std::uint64_t i = 0; i < max_archive_members; ++i) archive += member;

  EXPECT_EQ(read_tar_members(bytes_of_text(archive)).value().size(), 65536u);
  const auto more = read_tar_members(bytes_of_text(archive + member));

  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, Code::malformed);
  EXPECT_EQ(more.error().offset, 65536u * 512);
  EXPECT_EQ(more.error().message, "archive has more than 65536 members");
}

}  // namespace
}  // namespace gantry
