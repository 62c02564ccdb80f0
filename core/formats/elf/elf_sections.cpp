// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_sections.hpp"

#include <gantry/byte_reader.hpp>

namespace gantry {
namespace {

// Offsets of fields in the ELF header and in a section header.
constexpr std::uint64_t names_section_at = 0x3e, section_link_at = 40;
// SHN_XINDEX
constexpr std::uint16_t index_stored_elsewhere = 0xffff;

// Returns the texts of a section that other sections or symbols refer to.
Result<StringTable> strings_of(const ElfImage& image, std::uint64_t section,
                               const ElfField& field) {
  GANTRY_TRY(const std::size_t index, image.section_index(section, field));
  GANTRY_TRY(const auto names, image.bytes_of_section(index));
  return StringTable(names, image.offset_in_file(names));
}

}  // namespace

Result<SectionNames> SectionNames::of(const ElfImage& image) {
  SectionNames names(image);
  ByteReader header(image.bytes());
  GANTRY_CHECK(header.skip(names_section_at, "ELF header"));
  GANTRY_TRY(std::uint32_t section, header.read_u16("section of section names"));
  if (image.sections().empty()) return names;
  if (section == index_stored_elsewhere) section = image.sections().front().link;
  if (section == 0) return names;
  GANTRY_TRY(names.strings_,
             strings_of(image, section, {"section of section names", names_section_at}));
  return names;
}

Result<std::string_view> SectionNames::name(std::size_t section) {
  if (!strings_) return std::string_view();
  const std::uint64_t at = image_->sections()[section].at;
  ByteReader in(image_->bytes().subspan(at), at);
  GANTRY_TRY(const std::uint32_t name_at, in.read_u32("section name"));
  return strings_->name(name_at, "section name");
}

Result<std::vector<ElfSymbol>> section_symbols(const ElfImage& image, std::size_t section) {
  const ElfSection& header = image.sections()[section];
  GANTRY_TRY(const auto table, image.bytes_of_section(section));
  GANTRY_TRY(StringTable strings,
             strings_of(image, header.link,
                        {"string table of the symbol table", header.at + section_link_at}));
  return read_symbols(table, image.offset_in_file(table), strings);
}

}  // namespace gantry
