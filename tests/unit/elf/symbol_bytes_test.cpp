// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a symbol, and symbols with wrong sizes, values and sections.
#include "core/formats/elf/elf_file.hpp"

#include "tests/support/elf_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace gantry {
namespace {

using test::ElfBuilder;
using ::testing::ElementsAre;

constexpr std::uint8_t content[] = {1, 2, 3, 4, 5};

template <class T>
void put(std::vector<std::uint8_t>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// File offset of the entry of the object's only symbol, which follows the null symbol in section 2.
std::uint64_t symbol_of(const std::vector<std::uint8_t>& object) {
  std::uint64_t sections_at, symbols_at;
  std::memcpy(&sections_at, object.data() + 0x28, sizeof sections_at);
  std::memcpy(&symbols_at, object.data() + sections_at + 2 * 64 + 24, sizeof symbols_at);
  return symbols_at + 24;
}

TEST(SymbolBytes, AreTheContentOfTheSymbol) {
  const auto bytes = ElfBuilder().object("data", content).build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto view = file->bytes_of(*file->find("data"));
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_THAT(*view, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(std::memcmp(bytes.data() + file->offset_in_file(*view), content, sizeof content), 0);
}

TEST(SymbolBytes, AreRejectedIfTheSizeExceedsTheSegment) {
  const auto bytes = ElfBuilder().object("data", content, 1 << 20).build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  const std::uint64_t at = file->find("data")->value - ElfBuilder::base_address;
  const auto view = file->bytes_of(*file->find("data"));
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::malformed);
  EXPECT_EQ(view.error().offset, at);
  EXPECT_EQ(view.error().message, concat("symbol data has 1.0 MiB (1048576 bytes), room for ",
                                         bytes.size() - at, " bytes"));
}

TEST(SymbolBytes, OfAnUndefinedSymbolAreNotFound) {
  const auto bytes = ElfBuilder().undefined("puts").build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto view = file->bytes_of(*file->find("puts"));
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::not_found);
  EXPECT_EQ(view.error().message, "symbol puts is not defined in this file");
}

TEST(SymbolBytes, AreRejectedIfTheValueIsInNoSegment) {
  auto bytes = ElfBuilder().object("data", content).build();
  const std::uint64_t entry = ElfFile::parse(bytes)->find("data")->at;
  put(bytes, entry + 8, std::uint64_t{0xdead0000});

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto view = file->bytes_from(*file->find("data"));
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::malformed);
  EXPECT_EQ(view.error().offset, entry + 8);
  EXPECT_EQ(view.error().message,
            concat("value of symbol data is 0xdead0000, in none of the loaded segments, which span "
                   "0x10000 to ",
                   Hex{ElfBuilder::base_address + bytes.size()}));
}

TEST(SymbolBytes, OfARelocatableObjectComeFromItsSection) {
  const auto bytes = test::relocatable_object("blob", content);

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->find("blob")->at, symbol_of(bytes));
  const auto view = file->bytes_of(*file->find("blob"));
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_THAT(*view, ElementsAre(1, 2, 3, 4, 5));
}

TEST(SymbolBytes, OfACommonSymbolAreNotFound) {
  auto bytes = test::relocatable_object("blob", content);
  put(bytes, symbol_of(bytes) + 6, std::uint16_t{0xfff2});

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto view = file->bytes_from(*file->find("blob"));
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::not_found);
  EXPECT_EQ(view.error().message, "symbol blob is in no section of this file");
}

TEST(SymbolBytes, AreRejectedIfTheSectionDoesNotExist) {
  auto bytes = test::relocatable_object("blob", content);
  put(bytes, symbol_of(bytes) + 6, std::uint16_t{9});

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto view = file->bytes_from(*file->find("blob"));
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::malformed);
  EXPECT_EQ(view.error().offset, symbol_of(bytes) + 6);
  EXPECT_EQ(view.error().message, "section of symbol blob is section 9, section count is 4");
}

TEST(SymbolBytes, AreRejectedBeyondTheEndOfTheSection) {
  auto bytes = test::relocatable_object("blob", content);
  put(bytes, symbol_of(bytes) + 8, std::uint64_t{14});

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto view = file->bytes_from(*file->find("blob"));
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::malformed);
  EXPECT_EQ(view.error().offset, symbol_of(bytes) + 8);
  EXPECT_EQ(view.error().message, "symbol blob is at offset 14, section has 13 bytes");
}

TEST(SymbolTable, IsRejectedIfItsStringTableDoesNotExist) {
  auto bytes = test::relocatable_object("blob", content);
  std::uint64_t sections_at;
  std::memcpy(&sections_at, bytes.data() + 0x28, sizeof sections_at);
  put(bytes, sections_at + 2 * 64 + 40, std::uint32_t{9});

  const auto file = ElfFile::parse(bytes);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::malformed);
  EXPECT_EQ(file.error().offset, sections_at + 2 * 64 + 40);
  EXPECT_EQ(file.error().message,
            "string table of the symbol table is section 9, section count is 4");
}

// The offset of the error must be inside the file. Found by fuzzing.
TEST(SymbolTable, IsRejectedIfItsStringTableHasNoBytes) {
  auto bytes = test::relocatable_object("blob", content);
  std::uint64_t sections_at, strings_at;
  std::memcpy(&sections_at, bytes.data() + 0x28, sizeof sections_at);
  std::memcpy(&strings_at, bytes.data() + sections_at + 3 * 64 + 24, sizeof strings_at);
  // SHT_NOBITS
  put(bytes, sections_at + 3 * 64 + 4, std::uint32_t{8});

  const auto file = ElfFile::parse(bytes);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::malformed);
  EXPECT_EQ(file.error().offset, strings_at);
  EXPECT_EQ(file.error().message,
            "symbol name is at offset 1, string table has 0 bytes\n  while reading symbol 1");
}

TEST(SymbolVisibility, OfAHiddenSymbolPreventsItsExport) {
  auto bytes = ElfBuilder().object("data", content).build();
  const std::uint64_t entry = ElfFile::parse(bytes)->find("data")->at;
  // STV_HIDDEN
  put(bytes, entry + 5, std::uint8_t{2});

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->find("data")->visibility, SymbolVisibility::hidden);
  EXPECT_FALSE(file->find("data")->exported());
}

}  // namespace
}  // namespace gantry
