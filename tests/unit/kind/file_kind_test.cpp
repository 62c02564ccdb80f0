// SPDX-License-Identifier: Apache-2.0
//
// Kinds of files, and members of archives.
#include "core/kind/file_kind.hpp"
#include "core/archive/archive_members.hpp"

#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

#include <gmock/gmock.h>

#include <numeric>

namespace gantry {
namespace {

using test::Words;
using namespace std::literals;

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

std::string with_checksum(std::string block) {
  block.replace(148, 8, "        ");
  const unsigned sum = std::accumulate(block.begin(), block.end(), 0U, [](unsigned s, char c) {
    return s + static_cast<unsigned char>(c);
  });
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  block.replace(148, 7, std::string_view(text, 7));
  return block;
}
// A ustar header block: name, size in octal, type, checksum.
std::string tar_header(std::string_view name, std::string_view size, char type = '0',
                       std::string_view prefix = "") {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, size.size(), size);
  block[156] = type;
  block.replace(257, 6, "ustar\0"sv);
  block.replace(345, prefix.size(), prefix);
  return with_checksum(std::move(block));
}
std::string tar_block(std::string_view content) {
  std::string block(content);
  block.resize((block.size() + 511) / 512 * 512);
  return block;
}
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

TEST(FileKind, IsDeterminedByTheBytes) {
  EXPECT_EQ(kind_of(test::read_file(test::golden("tvm-0.12/axpy2_c.so"))),
            FileKind::shared_library);
  EXPECT_EQ(kind_of(test::read_file(test::golden("tvm-0.12/digits_crt_graph_llvm.tar"))),
            FileKind::model_library);
  EXPECT_EQ(kind_of(test::read_file(test::golden("tvm-0.12/digits_mlp.input.npz"))), FileKind::npz);
  EXPECT_EQ(kind_of(bytes_of("!<arch>\n")), FileKind::archive);
  EXPECT_EQ(kind_of(bytes_of("\x93NUMPY\x01\0"sv)), FileKind::npy);
  EXPECT_EQ(kind_of(Words().u64(0xF7E58D4F05049CB7).u64(0).bytes()), FileKind::parameters);
  EXPECT_EQ(kind_of(bytes_of(tar_header("a.txt", "0"))), FileKind::tar);
  EXPECT_EQ(kind_of(bytes_of("hello")), FileKind::unknown);
  EXPECT_EQ(kind_of({}), FileKind::unknown);
}

TEST(FileKind, OfAnElfFileIsItsTypeInEitherByteOrder) {
  std::vector<std::uint8_t> elf = bytes_of(
      "\x7f"
      "ELF\x02\x01\x01");
  elf.resize(64);
  EXPECT_EQ(kind_of(elf), FileKind::elf);
  elf[16] = 1;
  EXPECT_EQ(kind_of(elf), FileKind::object);
  elf[16] = 2;
  EXPECT_EQ(kind_of(elf), FileKind::program);
  elf[16] = 0, elf[17] = 3, elf[5] = 2;
  EXPECT_EQ(kind_of(elf), FileKind::shared_library);
  EXPECT_EQ(kind_of(std::span(elf).first(17)), FileKind::elf);
}

TEST(FirstBytesText, DescribesKnownFormatsTextAndBytes) {
  EXPECT_EQ(first_bytes_text(bytes_of("\x1f\x8b\x08")),
            "a gzip file (unpack it and use the file in it)");
  EXPECT_EQ(first_bytes_text(bytes_of("schema: 1\nid: x\n")),
            "text that begins with \"schema: 1\"");
  EXPECT_EQ(first_bytes_text(bytes_of("\n\n  License\r\n")), "text that begins with \"License\"");
  EXPECT_EQ(first_bytes_text(bytes_of("\n")), "text that begins with \"\"");
  EXPECT_EQ(first_bytes_text(bytes_of("\x01\xff\0abcdefg"sv)),
            "bytes that begin with 01 ff 00 61 62 63 64 65");
}

TEST(ArMembers, AreListedWithLongNamesAndWithoutTables) {
  const std::string archive = "!<arch>\n" + ar_header("/", "4") + "\0\0\0\0"s +
                              ar_header("//", "22") + "a_very_long_name.cpp.o/\n"s.substr(0, 22) +
                              ar_header("a.o/", "3") + "abc\n" + ar_header("/0", "2") + "xy" +
                              ar_header("#1/4", "6") + "b.o\0zz"s;

  EXPECT_EQ(listed(read_ar_members(bytes_of(archive))), "a.o:3 a_very_long_name.cpp.o:2 b.o:2 ");
}

TEST(ArMembers, RejectAnInvalidHeader) {
  EXPECT_EQ(listed(read_ar_members(bytes_of("!<arch>\n" + std::string(60, 'x')))),
            "archive member 0 has an invalid header");
  EXPECT_EQ(listed(read_ar_members(bytes_of("!<arch>\n" + ar_header("a.o/", "9") + "abc"))),
            "archive member: needs 9 bytes, 3 bytes left");
  EXPECT_EQ(listed(read_ar_members(bytes_of("!<arch>\n" + ar_header("/7", "0")))),
            "archive member name \"/7\" is not in the name table of 0 bytes");
  EXPECT_EQ(listed(read_ar_members(bytes_of("!<arch>\n" + ar_header("#1/7", "2") + "ab"))),
            "archive member name \"#1/7\" has an invalid length, the member has 2 bytes");
}

TEST(TarMembers, AreFilesAndLinksWithFullNames) {
  const std::string archive = tar_header("dir/", "0", '5') + tar_header("c.txt", "5", '0', "a/b") +
                              tar_block("hello") + tar_header("././@LongLink", "14", 'L') +
                              tar_block("long/name.o\0"sv) + tar_header("long/na", "1") +
                              tar_block("x") + tar_header("pax", "21", 'x') +
                              tar_block("17 path=p/q/r.py\n") + tar_header("p", "0") +
                              tar_header("link", "0", '2') + std::string(1024, '\0');

  EXPECT_EQ(listed(read_tar_members(bytes_of(archive))),
            "a/b/c.txt:5 long/name.o:1 p/q/r.py:0 link:0 ");
}

// Returns the special members, each with its noun.
std::string special_members(const std::string& archive) {
  std::string text;
  const auto members = read_tar_members(bytes_of(archive));
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
  EXPECT_EQ(listed(read_tar_members(bytes_of(tar_header("a", "3", '7') + tar_block("abc")))),
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
                bytes_of(tar_header("././@LongLink", "12", 'L') + tar_block("long/name\0"sv) +
                         tar_header("././@LongLink", "7", 'K') + tar_block("target\0"sv) +
                         tar_header("long/na", "0", '2')))),
            "long/name:0 ");
}

TEST(TarMembers, RejectAWrongChecksumAnInvalidSizeAndATruncation) {
  std::string wrong = tar_header("a", "0");
  wrong[0] = 'b';
  EXPECT_THAT(listed(read_tar_members(bytes_of(wrong))),
              ::testing::StartsWith("tar header checksum is "));
  EXPECT_EQ(
      listed(read_tar_members(bytes_of(tar_header("a", "9z")))),
      "tar member size is \"9z\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\", expected an "
      "octal number");
  EXPECT_EQ(listed(read_tar_members(bytes_of(tar_header("a", "12") + "abc"))),
            "tar member: needs 10 bytes, 3 bytes left");
  EXPECT_EQ(listed(read_tar_members(bytes_of(tar_header("a", "777777777", 'L')))),
            "tar name record has 134217727 bytes, limit is 65536");
}

TEST(TarMembers, ListsAllMembersOfAModelLibrary) {
  const auto members =
      read_tar_members(test::read_file(test::golden("tvm-0.12/digits_cpp_aot_llvm.tar")));

  EXPECT_EQ(listed(members),
            "./codegen/host/lib/digits_lib0.o:62872 ./codegen/host/lib/digits_lib1.o:2464 "
            "./metadata.json:1952 ./parameters/digits.params:32 ./src/digits.relay:482 ");
}

}  // namespace
}  // namespace gantry
