// SPDX-License-Identifier: Apache-2.0
//
// Zip archives put together by hand: every field can be wrong.
#pragma once

#include "tests/support/words.hpp"

#include <zlib.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gantry::test {

using Bytes = std::vector<std::uint8_t>;

inline Bytes deflated(std::span<const std::uint8_t> bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  Bytes out(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// A member as local header and directory say it; what is not set is right for `bytes`.
struct ZipMember {
  std::string name;
  // unpacked
  Bytes bytes;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::int64_t size = -1;
  std::int64_t packed_size = -1;
  std::int64_t crc = -1;
};

inline Bytes zip_of(const std::vector<ZipMember>& members) {
  Words archive, directory;
  for (const ZipMember& member : members) {
    const Bytes packed = member.method == 8 ? deflated(member.bytes) : member.bytes;
    // as both headers have them
    Words fields;
    fields.u16(20).u16(member.flags).u16(member.method).u32(0x00210000);
    const uLong crc = crc32(0, member.bytes.data(), static_cast<uInt>(member.bytes.size()));
    fields.u32(static_cast<std::uint32_t>(member.crc < 0 ? crc : member.crc));
    const auto or_else = [](std::int64_t value, std::size_t other) {
      return static_cast<std::uint32_t>(value < 0 ? other : static_cast<std::size_t>(value));
    };
    fields.u32(or_else(member.packed_size, packed.size()));
    fields.u32(or_else(member.size, member.bytes.size()));
    fields.u16(static_cast<std::uint16_t>(member.name.size())).u16(0);

    directory.u32(0x02014b50).u16(20).bytes(fields.bytes());
    directory.u16(0).u16(0).u16(0).u32(0).u32(static_cast<std::uint32_t>(archive.size()));
    directory.text(member.name);
    archive.u32(0x04034b50).bytes(fields.bytes()).text(member.name).bytes(packed);
  }
  const auto directory_at = static_cast<std::uint32_t>(archive.size());
  archive.bytes(directory.bytes());
  archive.u32(0x06054b50).u16(0).u16(0);
  archive.u16(static_cast<std::uint16_t>(members.size()));
  archive.u16(static_cast<std::uint16_t>(members.size()));
  archive.u32(static_cast<std::uint32_t>(directory.size())).u32(directory_at).u16(0);
  return {archive.bytes().begin(), archive.bytes().end()};
}

}  // namespace gantry::test
