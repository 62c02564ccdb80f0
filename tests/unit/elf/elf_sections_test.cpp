// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_sections.hpp"
#include "core/formats/elf/elf_address_uses.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/support/elf_builder.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace gantry {
namespace {

using test::ElfBuilder;

template <class T>
void put(std::vector<std::uint8_t>& bytes, std::uint64_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Sections: null, .dynsym, .dynstr. The names are those of the symbols.
std::vector<std::uint8_t> with_names(std::uint16_t names_section) {
  auto bytes = ElfBuilder().undefined("abc").sections().build();
  put(bytes, 0x3e, names_section);
  const ElfFile elf = ElfFile::parse(bytes).value();
  put<std::uint32_t>(bytes, elf.image().sections()[1].at, 2);
  return bytes;
}

TEST(SectionNames, AreTextsOfTheirSection) {
  const auto bytes = with_names(2);
  const ElfFile elf = ElfFile::parse(bytes).value();

  SectionNames names = SectionNames::of(elf.image()).value();

  EXPECT_EQ(names.name(0).value(), "");
  EXPECT_EQ(names.name(1).value(), "bc");
}

TEST(SectionNames, AreEmptyWithoutTheirSection) {
  const auto without = with_names(0);
  const auto stripped = ElfBuilder().undefined("abc").build();
  const ElfFile elf = ElfFile::parse(without).value(), none = ElfFile::parse(stripped).value();

  EXPECT_EQ(SectionNames::of(elf.image())->name(1).value(), "");
  EXPECT_TRUE(SectionNames::of(none.image()).ok());
}

// With more than 65,279 sections, the number is in the link of section 0.
TEST(SectionNames, FollowTheNumberInSection0) {
  auto bytes = with_names(0xffff);
  put<std::uint32_t>(bytes, ElfFile::parse(bytes)->image().sections()[0].at + 40, 2);
  const ElfFile elf = ElfFile::parse(bytes).value();

  EXPECT_EQ(SectionNames::of(elf.image())->name(1).value(), "bc");
}

TEST(SectionNames, RefuseASectionThatIsNotThere) {
  const auto bytes = with_names(3);
  const ElfFile elf = ElfFile::parse(bytes).value();

  const auto names = SectionNames::of(elf.image());

  ASSERT_FALSE(names.ok());
  EXPECT_EQ(names.error().code, Code::malformed);
  EXPECT_EQ(names.error().offset, 0x3eu);
  EXPECT_EQ(names.error().message, "section of section names is section 3, section count is 3");
}

TEST(SectionNames, RefuseATextBeyondTheirSection) {
  auto bytes = with_names(2);
  const std::uint64_t section = ElfFile::parse(bytes)->image().sections()[1].at;
  put<std::uint32_t>(bytes, section, 1000);
  const ElfFile elf = ElfFile::parse(bytes).value();

  const auto name = SectionNames::of(elf.image())->name(1);

  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().code, Code::malformed);
  EXPECT_EQ(name.error().offset, elf.image().sections()[2].offset);
}

TEST(SectionSymbols, RefuseAStringTableThatIsNotThere) {
  auto bytes = with_names(2);
  const std::uint64_t section = ElfFile::parse(bytes)->image().sections()[1].at;
  put<std::uint32_t>(bytes, section + 40, 9);
  const ElfFile elf = ElfFile::parse(bytes).value();

  const auto symbols = section_symbols(elf.image(), 1);

  ASSERT_FALSE(symbols.ok());
  EXPECT_EQ(symbols.error().offset, section + 40);
  EXPECT_EQ(symbols.error().message,
            "string table of the symbol table is section 9, section count is 3");
}

// A library with one packed relocation of the word `data`.
std::vector<std::uint8_t> with_packed_relocation(std::uint64_t word) {
  const std::vector<std::uint8_t> zeros(8);
  auto bytes = ElfBuilder()
                   .object("relr", zeros)
                   .object("data", zeros)
                   .dynamic(dynamic_tag::packed_relocations, 0)
                   .dynamic(dynamic_tag::packed_relocation_bytes, 8)
                   .build();
  const ElfFile elf = ElfFile::parse(bytes).value();
  const std::uint64_t data = elf.find("data")->value;
  put(bytes, elf.dynamic().find(dynamic_tag::packed_relocations)->at, elf.find("relr")->value);
  put(bytes, elf.find("relr")->value - ElfBuilder::base_address, word == 0 ? data : word);
  put(bytes, data - ElfBuilder::base_address, std::uint64_t{0x5000});
  return bytes;
}

TEST(AddressUse, IsFoundInAPackedRelocation) {
  const auto bytes = with_packed_relocation(0);
  const ElfFile elf = ElfFile::parse(bytes).value();
  const std::uint64_t table = elf.find("relr")->value - ElfBuilder::base_address;

  EXPECT_EQ(find_address_use(elf, {0x5000, 1}, "").value(), table);
  EXPECT_EQ(find_address_use(elf, {0x4ff0, 0x11}, "").value(), table);
  EXPECT_EQ(find_address_use(elf, {0x4ff0, 0x10}, "").value(), std::nullopt);
  EXPECT_EQ(find_address_use(elf, {0x5001, 8}, "").value(), std::nullopt);
}

TEST(AddressUse, RefusesAPackedRelocationBeyondTheFile) {
  const auto bytes = with_packed_relocation(0x7f0000);
  const ElfFile elf = ElfFile::parse(bytes).value();

  const auto use = find_address_use(elf, {0x5000, 1}, "");

  ASSERT_FALSE(use.ok());
  EXPECT_EQ(use.error().code, Code::malformed);
  EXPECT_EQ(use.error().offset, elf.find("relr")->value - ElfBuilder::base_address);
}

}  // namespace
}  // namespace gantry
