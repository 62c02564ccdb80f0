// SPDX-License-Identifier: Apache-2.0
#include "core/formats/kind/file_kind.hpp"

#include "core/formats/archive/tar_files.hpp"
#include "tests/support/files.hpp"
#include "tests/support/tar_bytes.hpp"
#include "tests/support/words.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::bytes_of_text;
using test::Words;
using namespace std::literals;

TEST(FileKind, IsDeterminedByTheBytes) {
  EXPECT_EQ(kind_of(test::read_file(test::golden("tvm-0.12/axpy2_c.so"))),
            FileKind::shared_library);
  EXPECT_EQ(kind_of(test::read_file(test::golden("tvm-0.12/digits_crt_graph_llvm.tar"))),
            FileKind::model_library);
  EXPECT_EQ(kind_of(test::read_file(test::golden("tvm-0.12/digits_mlp.input.npz"))), FileKind::npz);
  EXPECT_EQ(kind_of(bytes_of_text("!<arch>\n")), FileKind::archive);
  EXPECT_EQ(kind_of(bytes_of_text("\x93NUMPY\x01\0"sv)), FileKind::npy);
  EXPECT_EQ(kind_of(Words().u64(0xF7E58D4F05049CB7).u64(0).bytes()), FileKind::parameters);
  EXPECT_EQ(kind_of(bytes_of_text(test::tar_header("a.txt", "0"))), FileKind::tar);
  EXPECT_EQ(kind_of(bytes_of_text("hello")), FileKind::unknown);
  EXPECT_EQ(kind_of({}), FileKind::unknown);
}

TEST(FileKind, OfATarArchiveDependsOnTheNormalizedNamesOfItsFiles) {
  const auto kind = [](std::string_view name) {
    return kind_of(bytes_of_text(test::tar_file("../x", "") + test::tar_file(name, "{}")));
  };
  for (const char* const name : {"metadata.json", "./metadata.json", ".//metadata.json"}) {
    EXPECT_EQ(kind(name), FileKind::model_library) << name;
  }
  for (const char* const name : {"a/metadata.json", "/metadata.json", "a/../metadata.json"}) {
    EXPECT_EQ(kind(name), FileKind::tar) << name;
  }
}

// A loader refuses the archive for its number of members.
TEST(FileKind, OfATarArchiveIsThatOfItsMembersWithinTheLimit) {
  const std::string member = test::tar_file("a", ""), last = test::tar_file("metadata.json", "");
  std::string archive;
  for (std::uint64_t i = 0; i + 1 < TarLimits().members; ++i) archive += member;

  EXPECT_EQ(kind_of(bytes_of_text(archive + last)), FileKind::model_library);
  EXPECT_EQ(kind_of(bytes_of_text(archive + member + last)), FileKind::tar);
}

TEST(FileKind, OfAnElfFileIsItsTypeInEitherByteOrder) {
  std::vector<std::uint8_t> elf = bytes_of_text(
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
  EXPECT_EQ(first_bytes_text(bytes_of_text("\x1f\x8b\x08")),
            "a gzip file (decompress it (gunzip) and use the file in it)");
  EXPECT_EQ(first_bytes_text(bytes_of_text("schema: 1\nid: x\n")),
            "text that begins with \"schema: 1\"");
  EXPECT_EQ(first_bytes_text(bytes_of_text("\n\n  License\r\n")),
            "text that begins with \"License\"");
  EXPECT_EQ(first_bytes_text(bytes_of_text("\n")), "text that begins with \"\"");
  EXPECT_EQ(first_bytes_text(bytes_of_text("\x01\xff\0abcdefg"sv)),
            "bytes that begin with 01 ff 00 61 62 63 64 65");
}

}  // namespace
}  // namespace gantry
