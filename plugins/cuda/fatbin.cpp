// SPDX-License-Identifier: Apache-2.0
#include "code_formats.hpp"

namespace gantry::cuda {

Result<Image> read_fatbin(ByteReader in) {
  const auto bytes = in.rest();
  const std::uint64_t start = in.offset();
  GANTRY_CHECK(in.skip(4, "fatbin magic"));
  GANTRY_TRY(const std::uint16_t version, in.read_u16("fatbin version"));
  GANTRY_TRY(const std::uint16_t header_size, in.read_u16("fatbin header size"));
  const std::uint64_t size_at = in.offset();
  GANTRY_TRY(const std::uint64_t entries_size, in.read_u64("fatbin size"));
  if (version != 1 || header_size < 16) {
    return malformed(start + 4, "fatbin has version ", version, " and a header of ", header_size,
                     " bytes, expected 1 and at least 16")
        .with_reason("BLOB_FORMAT");
  }
  GANTRY_CHECK(in.skip(header_size - 16u, "fatbin header"));
  if (entries_size > in.left()) {
    return malformed(size_at, "fatbin: ", entries_size, " bytes of entries, room for ", in.left())
        .with_reason("BLOB_TRUNCATED");
  }
  Image image;
  image.kind = Image::Kind::fatbin;
  image.code = bytes.first(header_size + entries_size);
  GANTRY_TRY(ByteReader entries, in.sub_reader(entries_size, "fatbin entries"));
  while (!entries.at_end()) {
    const std::uint64_t at = entries.offset();
    GANTRY_TRY(const std::uint16_t kind, entries.read_u16("fatbin entry kind"));
    GANTRY_CHECK(entries.skip(2, "fatbin entry version"));
    GANTRY_TRY(const std::uint32_t entry_header, entries.read_u32("fatbin entry header size"));
    GANTRY_TRY(const std::uint64_t size, entries.read_u64("fatbin entry size"));
    GANTRY_CHECK(entries.skip(8, "fatbin entry's compressed size"));
    ImagePart part;
    GANTRY_TRY(part.language.minor, entries.read_u16("fatbin entry's minor version"));
    GANTRY_TRY(part.language.major, entries.read_u16("fatbin entry's major version"));
    GANTRY_TRY(const std::uint32_t number, entries.read_u32("fatbin entry's architecture"));
    if (entry_header < 32 || entry_header - 32 > entries.left() ||
        size > entries.left() - (entry_header - 32)) {
      return malformed(at, "fatbin entry has ", entry_header, " and ", size, " bytes, ",
                       entries.left() + 32, " are left")
          .with_reason("BLOB_TRUNCATED");
    }
    GANTRY_CHECK(entries.skip(entry_header - 32 + size, "fatbin entry"));
    // Entries of other kinds are for linkers only.
    if (kind != 1 && kind != 2) continue;
    part.is_ptx = kind == 1;
    part.target = architecture_of(number);
    if (!part.is_ptx) part.language = {};
    image.parts.push_back(part);
  }
  return image;
}

}  // namespace gantry::cuda
