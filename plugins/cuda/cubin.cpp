// SPDX-License-Identifier: Apache-2.0
#include "code_formats.hpp"

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

// Checks that a table is inside the image, and that none of its entries extends past the image.
//
// start    [in]   offset of the image, for errors
Status check_table(std::span<const std::uint8_t> bytes, std::uint64_t start, const ElfTable& table,
                   bool is_of_sections) {
  const std::string_view what = is_of_sections ? "section" : "segment";
  const std::uint64_t min = is_of_sections ? 64 : 56;
  const std::uint64_t offset_at = is_of_sections ? 24 : 8;
  const std::uint64_t whole = bytes.size();
  if (table.count == 0) return {};
  if (table.entry_size < min) {
    return malformed(start, "cubin ", what, "s have ", table.entry_size, " bytes each, minimum is ",
                     min)
        .with_reason("BLOB_FORMAT");
  }
  const std::uint64_t room = table.offset > whole ? 0 : (whole - table.offset) / table.entry_size;
  if (table.count > room) {
    return malformed(start, "cubin has ", table.count, ' ', what, "s at ", Hex{table.offset},
                     ", room for ", room)
        .with_reason("BLOB_TRUNCATED");
  }
  for (std::uint64_t i = 0; i < table.count; ++i) {
    const std::uint64_t at = table.offset + i * table.entry_size;
    ByteReader entry(bytes.subspan(at, table.entry_size), start + at);
    GANTRY_CHECK(entry.skip(4, "entry"));
    GANTRY_TRY(const std::uint32_t type, entry.read_u32("section type"));
    GANTRY_CHECK(entry.skip(offset_at - 8, "entry"));
    GANTRY_TRY(const std::uint64_t offset, entry.read_u64("entry offset"));
    GANTRY_CHECK(entry.skip(24 - offset_at, "entry"));
    GANTRY_TRY(const std::uint64_t size, entry.read_u64("entry size"));
    if (is_of_sections && (type == section_without_bytes || type == 0)) continue;
    if (offset <= whole && size <= whole - offset) continue;
    return malformed(start + at, "cubin ", what, ' ', i, " has ", size, " bytes at ", Hex{offset},
                     ", the cubin has ", whole)
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
  GANTRY_CHECK(check_table(bytes, start, segments, false));
  GANTRY_CHECK(check_table(bytes, start, sections, true));
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
