// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_image.hpp"

#include "core/base/file_mark.hpp"
#include "core/base/reason.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/byte_reader.hpp>

#include <algorithm>

namespace gantry {
namespace {

constexpr std::uint64_t header_bytes = 64;
constexpr std::uint64_t section_header_bytes = 64;
// PN_XNUM
constexpr std::uint16_t count_stored_elsewhere = 0xffff;
// SHT_NOBITS
constexpr std::uint32_t section_without_bytes = 8;

std::string first_bytes(std::span<const std::uint8_t> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    if (!text.empty()) text += ' ';
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text.empty() ? "none" : text;
}

// Returns e_machine of a complete header in either byte order.
ElfMachine machine_of(std::span<const std::uint8_t> bytes) {
  const bool is_big_endian = bytes[5] == 2;
  const std::uint8_t low = bytes[is_big_endian ? 19 : 18], high = bytes[is_big_endian ? 18 : 19];
  return static_cast<ElfMachine>(low | high << 8);
}

// Checks e_ident: the magic number, class, data encoding and version.
Status check_identity(std::span<const std::uint8_t> bytes) {
  if (!has_elf_magic(bytes)) {
    return malformed(0, "not an ELF file: first bytes are ", first_bytes(bytes),
                     file_mark_text(bytes))
        .with_reason(reason::not_elf.tag);
  }
  if (bytes.size() < header_bytes) {
    return malformed(0, "ELF header needs ", ByteCount(header_bytes), ", file has ",
                     ByteCount(bytes.size()))
        .with_reason("ELF_TRUNCATED");
  }
  if (bytes[4] == 1)
    return unsupported("ELF file is 32-bit ", name_of(machine_of(bytes)), ", expected 64-bit")
        .with_reason("ELF_CLASS");
  if (bytes[4] != 2) {
    return malformed(4, "ELF class is ", bytes[4], ", expected 2 (64-bit)")
        .with_reason("ELF_CLASS");
  }
  if (bytes[5] == 2) {
    return unsupported("ELF file is big-endian ", name_of(machine_of(bytes)),
                       ", expected little-endian")
        .with_reason("ELF_DATA");
  }
  if (bytes[5] != 1) {
    return malformed(5, "ELF data encoding is ", bytes[5], ", expected 1 (little-endian)")
        .with_reason("ELF_DATA");
  }
  if (bytes[6] != 1) return malformed(6, "ELF version is ", bytes[6], ", expected 1");
  return {};
}

struct Table {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::uint64_t entry_bytes = 0;
  // file offset of the entry size in the ELF header
  std::uint64_t entry_bytes_at = 0;
};

Result<std::span<const std::uint8_t>> table_bytes(std::span<const std::uint8_t> bytes,
                                                  const Table& table, std::uint64_t entry_bytes,
                                                  std::string_view name) {
  if (table.entry_bytes != entry_bytes) {
    return malformed(table.entry_bytes_at, name, " has entries of ", ByteCount(table.entry_bytes),
                     ", expected ", ByteCount(entry_bytes));
  }
  if (table.offset > bytes.size() || table.count > (bytes.size() - table.offset) / entry_bytes) {
    // does not overflow if count < 2^58, which is checked before it is used
    const std::uint64_t size = table.count * entry_bytes;
    if (table.count < (std::uint64_t{1} << 58) && table.offset <= UINT64_MAX - size) {
      return malformed(bytes.size(), name, " ends at ", Hex{table.offset + size}, ", file ends at ",
                       Hex{bytes.size()})
          .with_reason("ELF_TRUNCATED");
    }
    return malformed(bytes.size(), name, " of ", table.count, " entries is at ", Hex{table.offset},
                     ", file ends at ", Hex{bytes.size()})
        .with_reason("ELF_TRUNCATED");
  }
  return bytes.subspan(table.offset, table.count * entry_bytes);
}

Result<std::vector<ElfSegment>> read_segments(std::span<const std::uint8_t> bytes,
                                              const Table& table) {
  std::vector<ElfSegment> segments;
  if (table.count == 0) return segments;
  GANTRY_TRY(const auto view,
             table_bytes(bytes, table, program_header_bytes, "program header table"));
  ByteReader in(view, table.offset);
  segments.reserve(table.count);
  for (std::uint64_t i = 0; i < table.count; ++i) {
    ElfSegment segment;
    segment.at = in.offset();
    GANTRY_TRY(segment.type, in.read_u32("segment type"));
    GANTRY_TRY(segment.flags, in.read_u32("segment flags"));
    GANTRY_TRY(segment.offset, in.read_u64("segment offset"));
    GANTRY_TRY(segment.address, in.read_u64("segment address"));
    GANTRY_CHECK(in.skip(8, "segment physical address"));
    GANTRY_TRY(segment.file_size, in.read_u64("segment file size"));
    GANTRY_TRY(segment.memory_size, in.read_u64("segment memory size"));
    GANTRY_TRY(segment.alignment, in.read_u64("segment alignment"));
    if (segment.type == segment_type::load && segment.file_size > segment.memory_size) {
      return malformed(segment.at, "segment ", i, " has ", segment.file_size,
                       " bytes in the file, ", segment.memory_size, " in memory");
    }
    segments.push_back(segment);
  }
  return segments;
}

Result<std::vector<ElfSection>> read_sections(std::span<const std::uint8_t> bytes, Table table) {
  std::vector<ElfSection> sections;
  if (table.offset == 0) return sections;
  if (table.count == 0) {
    // With more than 65,279 sections, the count is in the size field of section 0.
    const Table first{table.offset, 1, table.entry_bytes, table.entry_bytes_at};
    GANTRY_TRY(const auto view,
               table_bytes(bytes, first, section_header_bytes, "section header table"));
    ByteReader in(view, table.offset);
    GANTRY_CHECK(in.skip(32, "section 0"));
    GANTRY_TRY(table.count, in.read_u64("section count"));
  }
  GANTRY_TRY(const auto view,
             table_bytes(bytes, table, section_header_bytes, "section header table"));
  ByteReader in(view, table.offset);
  sections.reserve(table.count);
  for (std::uint64_t i = 0; i < table.count; ++i) {
    ElfSection section;
    section.at = in.offset();
    GANTRY_CHECK(in.skip(4, "section name"));
    GANTRY_TRY(section.type, in.read_u32("section type"));
    GANTRY_TRY(section.flags, in.read_u64("section flags"));
    GANTRY_TRY(section.address, in.read_u64("section address"));
    GANTRY_TRY(section.offset, in.read_u64("section offset"));
    GANTRY_TRY(section.size, in.read_u64("section size"));
    GANTRY_TRY(section.link, in.read_u32("section link"));
    GANTRY_CHECK(in.skip(20, "section info"));
    sections.push_back(section);
  }
  return sections;
}

Failure cut_segment(std::size_t index, const ElfSegment& segment, std::uint64_t file_size) {
  if (segment.offset > UINT64_MAX - segment.file_size) {
    return malformed(file_size, "segment ", index, " of ", segment.file_size, " bytes is at ",
                     Hex{segment.offset}, ", file ends at ", Hex{file_size})
        .with_reason("ELF_TRUNCATED");
  }
  return malformed(file_size, "segment ", index, " ends at ",
                   Hex{segment.offset + segment.file_size}, ", file ends at ", Hex{file_size})
      .with_reason("ELF_TRUNCATED");
}

bool inside(std::uint64_t offset, std::uint64_t size, std::uint64_t file_size) {
  return offset <= file_size && size <= file_size - offset;
}

}  // namespace

Result<ElfImage> ElfImage::parse(std::span<const std::uint8_t> bytes) {
  GANTRY_CHECK(check_identity(bytes));
  ElfImage image;
  image.bytes_ = bytes;

  ByteReader in(bytes);
  Table programs, sections;
  GANTRY_CHECK(in.skip(16, "ELF identification"));
  GANTRY_TRY(const std::uint16_t type, in.read_u16("ELF type"));
  GANTRY_TRY(const std::uint16_t machine, in.read_u16("ELF machine"));
  GANTRY_CHECK(in.skip(4 + 8, "ELF version and entry"));
  GANTRY_TRY(programs.offset, in.read_u64("program header table offset"));
  GANTRY_TRY(sections.offset, in.read_u64("section header table offset"));
  GANTRY_CHECK(in.skip(4 + 2, "ELF flags and header size"));
  programs.entry_bytes_at = in.offset();
  GANTRY_TRY(programs.entry_bytes, in.read_u16("program header size"));
  GANTRY_TRY(programs.count, in.read_u16("program header count"));
  sections.entry_bytes_at = in.offset();
  GANTRY_TRY(sections.entry_bytes, in.read_u16("section header size"));
  GANTRY_TRY(sections.count, in.read_u16("section header count"));
  if (programs.count == count_stored_elsewhere) {
    return unsupported("ELF file has more than 65,534 program headers");
  }
  image.type_ = static_cast<ElfType>(type);
  image.machine_ = static_cast<ElfMachine>(machine);

  GANTRY_TRY(image.segments_, read_segments(bytes, programs));
  auto found = read_sections(bytes, sections);
  if (found.ok()) {
    image.sections_ = std::move(found).value();
  } else {
    image.section_fault_ = std::move(found).error();
  }
  return image;
}

Status ElfImage::check_complete() const {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const ElfSegment& segment = segments_[i];
    if (segment.file_size != 0 && !inside(segment.offset, segment.file_size, bytes_.size())) {
      return cut_segment(i, segment, bytes_.size());
    }
  }
  if (section_fault_) return *section_fault_;
  return {};
}

bool ElfImage::is_protected(std::uint64_t address, std::uint64_t size, std::uint64_t page) const {
  return std::ranges::any_of(segments_, [&](const ElfSegment& segment) {
    const std::uint64_t first = segment.address / page * page;
    const std::uint64_t end = (segment.address + segment.memory_size) / page * page;
    return segment.type == segment_type::gnu_relro && address < end &&
           (address >= first || first - address < size);
  });
}

Result<std::span<const std::uint8_t>> ElfImage::bytes_of_segment(std::size_t index) const {
  const ElfSegment& segment = segments_[index];
  if (!inside(segment.offset, segment.file_size, bytes_.size())) {
    return cut_segment(index, segment, bytes_.size());
  }
  return bytes_.subspan(segment.offset, segment.file_size);
}

Result<std::size_t> ElfImage::section_index(std::uint64_t number, const ElfField& field) const {
  if (number < sections_.size()) return static_cast<std::size_t>(number);
  return malformed(field.at, field.name, " is section ", number, ", section count is ",
                   sections_.size());
}

Result<std::span<const std::uint8_t>> ElfImage::bytes_of_section(std::size_t index) const {
  const ElfSection& section = sections_[index];
  if (section.type == section_without_bytes) {
    // Empty, but inside the file: errors report the offset of the view.
    return bytes_.subspan(std::min<std::uint64_t>(section.offset, bytes_.size()), 0);
  }
  if (!inside(section.offset, section.size, bytes_.size())) {
    return malformed(bytes_.size(), "section ", index, " of ", ByteCount(section.size), " is at ",
                     Hex{section.offset}, ", file ends at ", Hex{bytes_.size()})
        .with_reason("ELF_TRUNCATED");
  }
  return bytes_.subspan(section.offset, section.size);
}

Result<std::span<const std::uint8_t>> ElfImage::bytes_to_segment_end(std::uint64_t address,
                                                                     const ElfField& field) const {
  std::uint64_t lowest = UINT64_MAX, highest = 0;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const ElfSegment& segment = segments_[i];
    if (segment.type != segment_type::load) continue;
    lowest = std::min(lowest, segment.address);
    highest = std::max(
        highest, segment.address + std::min(segment.memory_size, UINT64_MAX - segment.address));
    if (address < segment.address) continue;
    const std::uint64_t into = address - segment.address;
    if (into >= segment.memory_size) continue;
    GANTRY_TRY(const auto view, bytes_of_segment(i));
    if (into >= view.size()) {
      return malformed(field.at, field.name, " is ", Hex{address}, ", ", ByteCount(into),
                       " into segment ", i, ", which has ", ByteCount(view.size()), " in the file");
    }
    return view.subspan(into);
  }
  if (lowest > highest) {
    return malformed(field.at, field.name, " is ", Hex{address}, ", file has no loaded segment");
  }
  return malformed(field.at, field.name, " is ", Hex{address},
                   ", in none of the loaded segments, which span ", Hex{lowest}, " to ",
                   Hex{highest});
}

}  // namespace gantry
