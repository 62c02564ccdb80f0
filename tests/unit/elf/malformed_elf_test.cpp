// SPDX-License-Identifier: Apache-2.0
//
// Malformed ELF files. Each row changes one field of a valid file and states the offset and the
// complete text of the error.
#include "core/formats/elf/elf_file.hpp"

#include "core/formats/elf/elf_symbols.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace gantry {
namespace {

using test::ElfBuilder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint8_t content[] = {1, 2, 3, 4, 5};

// A valid file with all tables that the rows below corrupt.
std::vector<std::uint8_t> valid_file() {
  return ElfBuilder()
      .object("data", content)
      .needed("liba.so")
      .version_need("liba.so", {"A_1"})
      .hash(ElfBuilder::Hash::both)
      .sections()
      .build();
}

template <class T>
void put(std::vector<std::uint8_t>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// File offset of the value of a dynamic entry; 0 if there is no such entry.
std::size_t dynamic_value(const std::vector<std::uint8_t>& bytes, std::uint64_t sought) {
  std::uint64_t at;
  std::memcpy(&at, bytes.data() + 64 + 56 + 8, sizeof at);
  for (;; at += 16) {
    std::uint64_t tag;
    std::memcpy(&tag, bytes.data() + at, sizeof tag);
    if (tag == sought) return at + 8;
    if (tag == 0) return 0;
  }
}

// File offset of the address in a dynamic entry.
std::size_t target_of(const std::vector<std::uint8_t>& bytes, std::uint64_t tag) {
  std::uint64_t address;
  std::memcpy(&address, bytes.data() + dynamic_value(bytes, tag), sizeof address);
  return address - ElfBuilder::base_address;
}

// Offset of the needed library's name in the string table.
std::uint64_t name_of_needed(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t at;
  std::memcpy(&at, bytes.data() + dynamic_value(bytes, 1), sizeof at);
  return at;
}

struct BadElf {
  std::string name;
  void (*corrupt)(std::vector<std::uint8_t>&);
  Code code;
  std::uint64_t offset;
  std::string message;
  std::string reason = {};
};

class MalformedElf : public ::testing::TestWithParam<BadElf> {};

TEST_P(MalformedElf, IsRejected) {
  std::vector<std::uint8_t> bytes = valid_file();
  GetParam().corrupt(bytes);

  const auto file = ElfFile::parse(bytes);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, GetParam().code);
  EXPECT_EQ(file.error().offset, GetParam().offset);
  EXPECT_EQ(file.error().message, GetParam().message);
  EXPECT_EQ(file.error().reason, GetParam().reason);
}

using Bytes = std::vector<std::uint8_t>;

INSTANTIATE_TEST_SUITE_P(
    Header, MalformedElf,
    ::testing::Values(
        BadElf{"Text",
               [](Bytes& b) {
                 b = {'h', 'e', 'l', 'l', 'o'};
               },
               Code::malformed, 0,
               "not an ELF file: first bytes are 68 65 6c 6c 6f; this is a text file", "NOT_ELF"},
        BadElf{"Nothing", [](Bytes& b) { b.clear(); }, Code::malformed, 0,
               "not an ELF file: first bytes are none", "NOT_ELF"},
        BadElf{"HeaderCut", [](Bytes& b) { b.resize(40); }, Code::malformed, 0,
               "ELF header needs 64 bytes, file has 40 bytes", "ELF_TRUNCATED"},
        BadElf{"Class32",
               [](Bytes& b) {
                 b[4] = 1;
                 put<std::uint16_t>(b, 18, 40);
               },
               Code::unsupported, no_offset, "ELF file is 32-bit arm, expected 64-bit",
               "ELF_CLASS"},
        BadElf{"Class32BigEndian",
               [](Bytes& b) {
                 b[4] = 1;
                 b[5] = 2;
                 put<std::uint16_t>(b, 18, 8 << 8);
               },
               Code::unsupported, no_offset, "ELF file is 32-bit mips, expected 64-bit",
               "ELF_CLASS"},
        BadElf{"NoClass", [](Bytes& b) { b[4] = 7; }, Code::malformed, 4,
               "ELF class is 7, expected 2 (64-bit)", "ELF_CLASS"},
        BadElf{"BigEndian",
               [](Bytes& b) {
                 b[5] = 2;
                 put<std::uint16_t>(b, 18, 22 << 8);
               },
               Code::unsupported, no_offset, "ELF file is big-endian s390x, expected little-endian",
               "ELF_DATA"},
        BadElf{"NoEncoding", [](Bytes& b) { b[5] = 0; }, Code::malformed, 5,
               "ELF data encoding is 0, expected 1 (little-endian)", "ELF_DATA"},
        BadElf{"Version", [](Bytes& b) { b[6] = 9; }, Code::malformed, 6,
               "ELF version is 9, expected 1"},
        BadElf{"ProgramHeaderSize", [](Bytes& b) { put<std::uint16_t>(b, 0x36, 32); },
               Code::malformed, 54,
               "program header table has entries of 32 bytes, expected 56 bytes"},
        BadElf{"ProgramHeadersOutside", [](Bytes& b) { put<std::uint64_t>(b, 0x20, 1 << 30); },
               Code::malformed, 752, "program header table ends at 0x400000a8, file ends at 0x2f0",
               "ELF_TRUNCATED"},
        BadElf{"ProgramHeadersFarOutside", [](Bytes& b) { put<std::uint64_t>(b, 0x20, ~0ull); },
               Code::malformed, 752,
               "program header table of 3 entries is at 0xffffffffffffffff, file ends at 0x2f0",
               "ELF_TRUNCATED"},
        BadElf{"ProgramHeadersElsewhere", [](Bytes& b) { put<std::uint16_t>(b, 0x38, 0xffff); },
               Code::unsupported, no_offset, "ELF file has more than 65,534 program headers"},
        BadElf{"MoreFileThanMemory", [](Bytes& b) { put<std::uint64_t>(b, 64 + 40, 5); },
               Code::malformed, 64, "segment 0 has 560 bytes in the file, 5 in memory"},
        BadElf{"NoDynamicSegment", [](Bytes& b) { put<std::uint32_t>(b, 64 + 56, 0x70000000); },
               Code::malformed, 56,
               "shared object has no dynamic segment among its 3 program headers"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Dynamic, MalformedElf,
    ::testing::Values(
        BadElf{"SymbolSize", [](Bytes& b) { put<std::uint64_t>(b, dynamic_value(b, 11), 16); },
               Code::malformed, 472, "DT_SYMENT is 16, expected 24"},
        BadElf{"SymbolsNowhere", [](Bytes& b) { put<std::uint64_t>(b, dynamic_value(b, 6), 1); },
               Code::malformed, 456,
               "DT_SYMTAB is 0x1, in none of the loaded segments, which span 0x10000 to 0x10230"},
        BadElf{"StringsTooLong",
               [](Bytes& b) { put<std::uint64_t>(b, dynamic_value(b, 10), 1 << 20); },
               Code::malformed, 440, "DT_STRSZ is 1.0 MiB (1048576 bytes), room for 184 bytes"},
        BadElf{"NameOutside", [](Bytes& b) { put<std::uint32_t>(b, target_of(b, 6) + 24, 0xffff); },
               Code::malformed, 376,
               "symbol name is at offset 65535, string table has 18 bytes\n  while reading symbol "
               "1"},
        BadElf{"NameBehindTheStrings",
               [](Bytes& b) { put<std::uint64_t>(b, dynamic_value(b, 10), 4); }, Code::malformed,
               376, "needed library is at offset 6, string table has 4 bytes"},
        BadElf{"NameWithoutEnd",
               [](Bytes& b) { put<std::uint64_t>(b, dynamic_value(b, 10), name_of_needed(b) + 3); },
               Code::malformed, 382, "needed library has no NUL in its string table"},
        BadElf{"SymbolsWithoutRoom",
               [](Bytes& b) {
                 put<std::uint64_t>(b, dynamic_value(b, 6),
                                    ElfBuilder::base_address + b.size() - 3 * 64 - 24);
               },
               Code::malformed, 536, "dynamic symbols: count 2, room for 1"},
        BadElf{"StringsNowhere",
               [](Bytes& b) { put<std::uint64_t>(b, dynamic_value(b, 5), 0xdead0000); },
               Code::malformed, 424,
               "DT_STRTAB is 0xdead0000, in none of the loaded segments, which span 0x10000 to "
               "0x10230"},
        BadElf{
            "HashNowhere", [](Bytes& b) { put<std::uint64_t>(b, dynamic_value(b, 4), 0xdead0000); },
            Code::malformed, 504,
            "DT_HASH is 0xdead0000, in none of the loaded segments, which span 0x10000 to 0x10230"},
        BadElf{"GnuHashNowhere",
               [](Bytes& b) { put<std::uint64_t>(b, dynamic_value(b, 0x6ffffef5), 0xdead0000); },
               Code::malformed, 488,
               "DT_GNU_HASH is 0xdead0000, in none of the loaded segments, which span 0x10000 to "
               "0x10230"},
        BadElf{"VersionNeedsNowhere",
               [](Bytes& b) { put<std::uint64_t>(b, dynamic_value(b, 0x6ffffffe), ~0ull); },
               Code::malformed, 520,
               "DT_VERNEED is 0xffffffffffffffff, in none of the loaded segments, which span "
               "0x10000 to 0x10230"},
        BadElf{"NoHash",
               [](Bytes& b) {
                 put<std::uint64_t>(b, dynamic_value(b, 4) - 8, 0x70000000);
                 put<std::uint64_t>(b, dynamic_value(b, 0x6ffffef5) - 8, 0x70000000);
               },
               Code::malformed, 456,
               "dynamic symbols cannot be counted: file has neither DT_HASH nor DT_GNU_HASH",
               "ELF_HASH"},
        BadElf{"NothingLoaded", [](Bytes& b) { put<std::uint32_t>(b, 64, 0x70000000); },
               Code::malformed, 424, "DT_STRTAB is 0x10178, file has no loaded segment"},
        BadElf{"NeededOutside", [](Bytes& b) { put<std::uint64_t>(b, dynamic_value(b, 1), 999); },
               Code::malformed, 376, "needed library is at offset 999, string table has 18 bytes"},
        BadElf{"HashCountsTooMany",
               [](Bytes& b) { put<std::uint32_t>(b, target_of(b, 4) + 4, 1u << 30); },
               Code::malformed, 320, "DT_HASH has 1 buckets and 1073741824 chains, room for 58"},
        BadElf{"HashesDisagree", [](Bytes& b) { put<std::uint32_t>(b, target_of(b, 4) + 4, 1); },
               Code::malformed, 288, "DT_GNU_HASH counts 2 symbols, DT_HASH counts 1", "ELF_HASH"},
        BadElf{"GnuBuckets",
               [](Bytes& b) { put<std::uint32_t>(b, target_of(b, 0x6ffffef5), 1u << 30); },
               Code::malformed, 288, "DT_GNU_HASH has 1073741824 buckets, room for 62"},
        BadElf{"GnuBloom",
               [](Bytes& b) { put<std::uint32_t>(b, target_of(b, 0x6ffffef5) + 8, 1u << 30); },
               Code::malformed, 304,
               "DT_GNU_HASH bloom filter: needs 8.0 GiB (8589934592 bytes), 256 bytes left",
               "BLOB_TRUNCATED"},
        BadElf{"GnuBucketBelowFirst",
               [](Bytes& b) { put<std::uint32_t>(b, target_of(b, 0x6ffffef5) + 4, 9); },
               Code::malformed, 288, "DT_GNU_HASH bucket names symbol 1, first hashed symbol is 9"},
        BadElf{"GnuBloomWords",
               [](Bytes& b) { put<std::uint32_t>(b, target_of(b, 0x6ffffef5) + 8, 3); },
               Code::malformed, 288,
               "DT_GNU_HASH has a bloom filter of 3 words, expected a power of two"},
        BadElf{"GnuBucketFar",
               [](Bytes& b) { put<std::uint32_t>(b, target_of(b, 0x6ffffef5) + 24, 1u << 30); },
               Code::malformed, 316,
               "DT_GNU_HASH chain: needs 4.0 GiB (4294967292 bytes), 244 bytes left",
               "BLOB_TRUNCATED"},
        BadElf{"VersionNeedFar",
               [](Bytes& b) {
                 put<std::uint64_t>(b, dynamic_value(b, 0x6fffffff), 2);
                 put<std::uint32_t>(b, target_of(b, 0x6ffffffe) + 12, 0xffffff00);
               },
               Code::malformed, 344, "version need 1 is at offset 4294967040, table has 216 bytes"},
        BadElf{"VersionFar",
               [](Bytes& b) { put<std::uint32_t>(b, target_of(b, 0x6ffffffe) + 8, 0xffffff00); },
               Code::malformed, 344, "version need 0 has 1 versions, which exceed their table"}),
    [](const auto& test) { return test.param.name; });

TEST(ElfSymbols, RejectAGnuHashChainWithoutAnEndMark) {
  const auto table = test::Words().u32(1).u32(1).u32(1).u32(0).u64(0).u32(1).u32(0).u32(2).u32(4);

  const auto count = read_gnu_hash(table.bytes(), 0x100);

  ASSERT_FALSE(count.ok());
  EXPECT_EQ(count.error().code, Code::malformed);
  EXPECT_EQ(count.error().offset, 0x100u + table.size());
  EXPECT_EQ(count.error().message, "DT_GNU_HASH chain: needs 4 bytes, 0 bytes left");
}

TEST(ElfSymbols, RejectAGnuHashBucketBelowTheFirstSymbol) {
  const auto table = test::Words().u32(2).u32(5).u32(1).u32(0).u64(0).u32(4).u32(5).u32(1);

  const auto symbols = read_gnu_hash(table.bytes(), 0x100);

  ASSERT_FALSE(symbols.ok());
  EXPECT_EQ(symbols.error().message, "DT_GNU_HASH bucket names symbol 4, first hashed symbol is 5");
}

// The step to the next version need is 0.
TEST(ElfFile, EndsAVersionChainThatLoops) {
  auto bytes = valid_file();
  const std::size_t needs = target_of(bytes, 0x6ffffffe);
  put<std::uint64_t>(bytes, dynamic_value(bytes, 0x6fffffff), ~0ull);
  put<std::uint32_t>(bytes, needs + 12, 0);
  put<std::uint16_t>(bytes, needs + 2, 0xffff);
  put<std::uint32_t>(bytes, needs + 16 + 12, 0);

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->version_needs().size(), 1u);
}

// Each of 100 records is a need of 10 versions and also a version of the ten needs before it: 1,600
// bytes describe 1,000 versions.
TEST(ElfSymbols, RejectVersionNeedsThatOverlap) {
  test::Words table;
  for (int i = 0; i < 100; ++i) table.u16(1).u16(10).u32(0).u32(16).u32(16);
  const std::vector<std::uint8_t> names(32);
  StringTable strings(names, 0);

  const auto needs = read_version_needs(table.bytes(), 0x100, 50, strings);

  ASSERT_FALSE(needs.ok());
  EXPECT_EQ(needs.error().offset, 0x100u + 10 * 16);
  EXPECT_EQ(needs.error().message, "version need 10 has 10 versions, which exceed their table");
}

// All names share one long suffix: without a limit, 20,000 names of up to 20,000 characters.
TEST(ElfFile, RejectsOverlappingNamesOverTheLimit) {
  constexpr std::uint32_t length = 20000;
  ElfBuilder builder;
  builder.hash(ElfBuilder::Hash::sysv).object(std::string(length, 'a'), content);
  for (std::uint32_t i = 1; i < length; ++i) builder.undefined("u");
  auto bytes = builder.build();
  const std::size_t symbols = target_of(bytes, 6);
  for (std::uint32_t i = 1; i < length; ++i) {
    put<std::uint32_t>(bytes, symbols + std::size_t{24} * i, 1 + i);
  }

  const auto file = ElfFile::parse(bytes);

  ASSERT_FALSE(file.ok());
  EXPECT_THAT(
      file.error().message,
      HasSubstr("symbol name exceeds the limit on the total length of names, 64.0 KiB (65536 "
                "bytes) and 16 times the string table, which has "));
}

// The offset of the error must be inside the file even if the table is not. Found by fuzzing.
TEST(ElfFile, ReportsAWrongEntrySizeAtItsField) {
  auto bytes = valid_file();
  put<std::uint64_t>(bytes, 0x20, ~0ull);
  put<std::uint16_t>(bytes, 0x36, 32);

  const auto file = ElfFile::parse(bytes);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().offset, 0x36u);
  EXPECT_EQ(file.error().message,
            "program header table has entries of 32 bytes, expected 56 bytes");
}

TEST(ElfFile, ReportsATruncatedSegment) {
  auto bytes = test::read_file(test::golden("tvm-0.12/axpy2_llvm.so"));
  bytes.resize(0x1800);

  const auto file = ElfFile::parse(bytes);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::malformed);
  EXPECT_EQ(file.error().reason, "ELF_TRUNCATED");
  EXPECT_EQ(file.error().offset, 0x1800u);
  EXPECT_EQ(file.error().message, "segment 1 ends at 0x1865, file ends at 0x1800");
}

TEST(ElfFile, ReportsATruncatedSectionTable) {
  auto bytes = valid_file();
  const std::size_t whole = bytes.size();
  bytes.resize(whole - 1);

  const auto file = ElfFile::parse(bytes);

  // The system's loader does not read the section table.
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Status complete = file->check_complete();
  ASSERT_FALSE(complete.ok());
  EXPECT_EQ(complete.error().message,
            concat("section header table ends at ", Hex{whole}, ", file ends at ", Hex{whole - 1}));
}

// ---- corrupted files: each is read or rejected; sanitizers detect faults -----------------------

void touch_everything(std::span<const std::uint8_t> bytes) {
  const auto file = ElfFile::parse(bytes);
  if (!file.ok()) {
    EXPECT_FALSE(file.error().message.empty());
    return;
  }
  for (const ElfSymbol& symbol : file->symbols()) {
    EXPECT_LE(symbol.name.size(), bytes.size());
    (void)file->bytes_of(symbol);
  }
  (void)file->check_complete();
}

TEST(ElfFile, SurvivesEveryTruncation) {
  const auto bytes = test::read_file(test::golden("tvm-0.12/axpy2_llvm.so"));
  for (std::size_t size = 0; size < bytes.size(); size += size < 0x600 ? 1 : 13) {
    touch_everything(std::span(bytes).first(size));
  }
}

TEST(ElfFile, RejectsEveryTruncationOfABuiltFile) {
  const auto bytes = ElfBuilder().object("data", content).build();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = std::span(bytes).first(size);
    EXPECT_FALSE(ElfFile::parse(cut).ok()) << "accepted the first " << size << " bytes";
  }
}

TEST(ElfFile, SurvivesEveryBitFlipInItsTables) {
  auto bytes = test::read_file(test::golden("tvm-0.12/axpy2_llvm.so"));
  const auto file = ElfFile::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  std::vector<std::pair<std::size_t, std::size_t>> locations{{0, 0x600}};
  for (const ElfSegment& segment : file->image().segments()) {
    if (segment.type == 2)
      locations.push_back({segment.offset, segment.offset + segment.file_size});
  }
  for (const auto& [first, last] : locations) {
    for (std::size_t i = first; i < last; ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        bytes[i] ^= static_cast<std::uint8_t>(1 << bit);
        touch_everything(bytes);
        bytes[i] ^= static_cast<std::uint8_t>(1 << bit);
      }
    }
  }
}

TEST(ElfFile, SurvivesEveryValueOfEveryByteOfABuiltFile) {
  auto bytes = valid_file();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint8_t was = bytes[i];
    for (int value = 0; value < 256; ++value) {
      bytes[i] = static_cast<std::uint8_t>(value);
      touch_everything(bytes);
    }
    bytes[i] = was;
  }
}

TEST(ElfFile, SurvivesEveryBitFlipInARelocatableObject) {
  auto bytes = test::relocatable_object("blob", content);
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    bytes[i / 8] ^= static_cast<std::uint8_t>(1 << i % 8);
    touch_everything(bytes);
    bytes[i / 8] ^= static_cast<std::uint8_t>(1 << i % 8);
  }
}

// ---- tables that fill the bytes they have, and one byte less -----------------------------------

TEST(ElfSymbols, ReadAHashTableThatFillsItsBytes) {
  const auto table = test::Words().u32(1).u32(2).u32(0).u32(0).u32(0);

  EXPECT_EQ(*symbol_count_of_hash(table.bytes(), 0), 2u);
  const auto cut = symbol_count_of_hash(table.bytes().first(19), 0x100);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, Code::malformed);
  EXPECT_EQ(cut.error().offset, 0x100u);
  EXPECT_EQ(cut.error().message, "DT_HASH has 1 buckets and 2 chains, room for 2");
}

TEST(ElfSymbols, ReadAGnuHashTableWhoseBucketsFillItsBytes) {
  const auto table = test::Words().u32(1).u32(5).u32(1).u32(0).u64(0).u32(0);

  EXPECT_EQ(read_gnu_hash(table.bytes(), 0)->end, 5u);
  const auto cut = read_gnu_hash(table.bytes().first(27), 0x100);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, Code::malformed);
  EXPECT_EQ(cut.error().offset, 0x100u);
  EXPECT_EQ(cut.error().message, "DT_GNU_HASH has 1 buckets, room for 0");
}

TEST(ElfSymbols, RejectAVersionNeedAtTheEndOfItsTable) {
  const auto table = test::Words().u16(1).u16(0).u32(0).u32(0).u32(16);
  const std::vector<std::uint8_t> names(1);
  StringTable strings(names, 0);

  const auto needs = read_version_needs(table.bytes(), 0x100, 2, strings);

  ASSERT_FALSE(needs.ok());
  EXPECT_EQ(needs.error().code, Code::malformed);
  EXPECT_EQ(needs.error().offset, 0x110u);
  EXPECT_THAT(needs.error().message, HasSubstr("version need: needs 2 bytes, 0 bytes left"));
}

TEST(ElfSymbols, RejectAVersionAtTheEndOfItsTable) {
  const auto table = test::Words().u16(1).u16(1).u32(0).u32(16).u32(0);
  const std::vector<std::uint8_t> names(1);
  StringTable strings(names, 0);

  const auto needs = read_version_needs(table.bytes(), 0x100, 1, strings);

  ASSERT_FALSE(needs.ok());
  EXPECT_EQ(needs.error().code, Code::malformed);
  EXPECT_EQ(needs.error().offset, 0x110u);
  EXPECT_THAT(needs.error().message, HasSubstr("version hash: needs 4 bytes, 0 bytes left"));
}

TEST(StringTable, RejectsAnOffsetAtItsEnd) {
  const std::vector<std::uint8_t> bytes{'a', 0};
  StringTable strings(bytes, 0x100);

  EXPECT_EQ(*strings.name(1, "symbol name"), "");
  const auto name = strings.name(2, "symbol name");
  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().code, Code::malformed);
  EXPECT_EQ(name.error().offset, 0x100u);
  EXPECT_EQ(name.error().message, "symbol name is at offset 2, string table has 2 bytes");
}

// 17 names of 65,552 bytes are exactly 65,536 bytes and 16 times the table of 65,553 bytes.
TEST(StringTable, ReturnsNamesUpToTheirTotalLimit) {
  std::vector<std::uint8_t> bytes(65552, 'a');
  bytes.push_back(0);
  StringTable strings(bytes, 0x100);

  for (int i = 0; i < 17; ++i) ASSERT_TRUE(strings.name(0, "symbol name").ok()) << i;
  const auto over = strings.name(65551, "symbol name");
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().code, Code::malformed);
  EXPECT_EQ(over.error().offset, 0x100u + 65551);
  EXPECT_THAT(over.error().message, HasSubstr("exceeds the limit on the total length of names"));
}

// As above, with 8 more bytes that have no NUL: they are what the limit leaves.
TEST(StringTable, ReportsAMissingNulWithinTheLimit) {
  std::vector<std::uint8_t> bytes(65552 + 15 * 8, 'a');
  bytes.push_back(0);
  bytes.insert(bytes.end(), 8, 'b');
  StringTable strings(bytes, 0x100);
  for (int i = 0; i < 17; ++i) ASSERT_TRUE(strings.name(0, "symbol name").ok()) << i;

  const auto name = strings.name(bytes.size() - 8, "symbol name");

  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().message, "symbol name has no NUL in its string table");
}

}  // namespace
}  // namespace gantry
