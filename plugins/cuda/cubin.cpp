// SPDX-License-Identifier: Apache-2.0
#include "code_formats.hpp"

#include <algorithm>

namespace gantry::cuda {
namespace {

constexpr std::uint16_t elf_machine_cuda = 190;
// SHT_NOBITS
constexpr std::uint32_t section_without_bytes = 8;

// Fields of an ELF header and a section header; elf.h documents their names.
struct ElfTable {
  std::uint64_t offset = 0;
  std::uint64_t entry_size = 0;
  std::uint64_t count = 0;
};

Status check_within(std::uint64_t at, std::uint64_t offset, std::uint64_t size, std::uint64_t whole,
                    std::string_view what, std::uint64_t index) {
  if (offset <= whole && size <= whole - offset) return {};
  return malformed(at, "cubin ", what, ' ', index, " has ", size, " bytes at ", Hex{offset},
                   ", the cubin has ", whole)
      .with_reason("BLOB_TRUNCATED");
}

// Returns a reader at entry i of a table inside the image.
Result<ByteReader> table_entry(std::span<const std::uint8_t> bytes, std::uint64_t start,
                               const ElfTable& table, std::uint64_t i) {
  const std::uint64_t at = table.offset + i * table.entry_size;
  return ByteReader(bytes.subspan(at, table.entry_size), start + at);
}

Status check_table(std::uint64_t start, const ElfTable& table, std::uint64_t min,
                   std::uint64_t whole, std::string_view what) {
  if (table.count == 0) return {};
  if (table.entry_size < min) {
    return malformed(start, "cubin ", what, "s have ", table.entry_size, " bytes each, minimum is ",
                     min)
        .with_reason("BLOB_FORMAT");
  }
  if (table.offset > whole || table.count > (whole - table.offset) / table.entry_size) {
    return malformed(start, "cubin has ", table.count, ' ', what, "s at ", Hex{table.offset},
                     ", room for ",
                     table.offset > whole ? 0 : (whole - table.offset) / table.entry_size)
        .with_reason("BLOB_TRUNCATED");
  }
  return {};
}

Result<Architecture> check_elf(ByteReader in) {
  const std::uint64_t start = in.offset();
  const auto bytes = in.rest();
  GANTRY_TRY(const auto ident, in.read_bytes(16, "cubin's ELF identification"));
  if (ident[4] != 2 || ident[5] != 1) {
    return malformed(start + 4, "cubin has ELF class ", static_cast<unsigned>(ident[4]),
                     " and data ", static_cast<unsigned>(ident[5]), ", expected 2 and 1")
        .with_reason("BLOB_FORMAT");
  }
  GANTRY_CHECK(in.skip(2, "cubin's ELF type"));
  const std::uint64_t machine_at = in.offset();
  GANTRY_TRY(const std::uint16_t machine, in.read_u16("cubin's ELF machine"));
  if (machine != elf_machine_cuda) {
    return malformed(machine_at, "ELF image is for machine ", machine, ", CUDA's is ",
                     elf_machine_cuda)
        .with_reason("BLOB_FORMAT");
  }
  GANTRY_CHECK(in.skip(4 + 8, "cubin's ELF version and entry"));
  ElfTable segments;
  ElfTable sections;
  GANTRY_TRY(segments.offset, in.read_u64("cubin's segment table"));
  GANTRY_TRY(sections.offset, in.read_u64("cubin's section table"));
  GANTRY_TRY(const std::uint32_t flags, in.read_u32("cubin's ELF flags"));
  GANTRY_CHECK(in.skip(2, "cubin's ELF header size"));
  GANTRY_TRY(segments.entry_size, in.read_u16("cubin's segment size"));
  GANTRY_TRY(segments.count, in.read_u16("cubin's segment count"));
  GANTRY_TRY(sections.entry_size, in.read_u16("cubin's section size"));
  GANTRY_TRY(sections.count, in.read_u16("cubin's section count"));
  GANTRY_CHECK(check_table(start, segments, 56, bytes.size(), "segment"));
  GANTRY_CHECK(check_table(start, sections, 64, bytes.size(), "section"));
  for (std::uint64_t i = 0; i < segments.count; ++i) {
    GANTRY_TRY(ByteReader entry, table_entry(bytes, start, segments, i));
    const std::uint64_t at = entry.offset();
    GANTRY_CHECK(entry.skip(8, "segment type"));
    GANTRY_TRY(const std::uint64_t offset, entry.read_u64("segment offset"));
    GANTRY_CHECK(entry.skip(16, "segment addresses"));
    GANTRY_TRY(const std::uint64_t size, entry.read_u64("segment size"));
    GANTRY_CHECK(check_within(at, offset, size, bytes.size(), "segment", i));
  }
  for (std::uint64_t i = 0; i < sections.count; ++i) {
    GANTRY_TRY(ByteReader entry, table_entry(bytes, start, sections, i));
    const std::uint64_t at = entry.offset();
    GANTRY_CHECK(entry.skip(4, "section name"));
    GANTRY_TRY(const std::uint32_t type, entry.read_u32("section type"));
    GANTRY_CHECK(entry.skip(16, "section flags and address"));
    GANTRY_TRY(const std::uint64_t offset, entry.read_u64("section offset"));
    GANTRY_TRY(const std::uint64_t size, entry.read_u64("section size"));
    if (type == section_without_bytes || type == 0) continue;
    GANTRY_CHECK(check_within(at, offset, size, bytes.size(), "section", i));
  }
  // The flags contain the architecture in the lowest byte up to version 7 of CUDA's ELF ABI, and in
  // the second byte from version 8 (CUDA 13).
  const std::uint32_t number = (ident[8] >= 8 ? flags >> 8 : flags) & 0xffu;
  return architecture_of(number);
}

}  // namespace

Result<Image> read_cubin(ByteReader in) {
  Image image;
  image.kind = Image::Kind::cubin;
  image.code = in.rest();
  ImagePart part;
  GANTRY_TRY(part.target, check_elf(in));
  image.parts.push_back(part);
  return image;
}

}  // namespace gantry::cuda
