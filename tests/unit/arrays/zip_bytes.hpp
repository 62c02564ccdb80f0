// SPDX-License-Identifier: Apache-2.0
//
// A builder of zip archives that can set every field to a wrong value.
#pragma once

#include "tests/support/words.hpp"

#include <zlib.h>

#include <cstdint>
#include <optional>
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

// One member. Fields that are not set have the correct value for `bytes`.
struct ZipPart {
  std::string name;
  // unpacked
  Bytes bytes;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::int64_t size = -1;
  std::int64_t packed_size = -1;
  std::int64_t crc = -1;

  // Puts sizes, and in the directory the offset, into zip64 fields.
  bool zip64 = false;
  // Writes checksum and sizes after the data; in the local header they are 0.
  bool streamed = false;
  std::optional<Bytes> packed = {};
  // In the directory.
  std::optional<std::uint32_t> header_at = {};
  Bytes extra = {};
  // In the local header.
  std::optional<std::string> local_name = {};
  Bytes local_extra = {};
};

// What comes after the members.
struct ZipTail {
  bool zip64 = false;
  std::string comment = {};
  // zip64 end record: the plain one contains the numbers, too
  bool both = false;
};

inline Bytes zip_of(const std::vector<ZipPart>& parts, const ZipTail& tail = {}) {
  const auto or_else = [](std::int64_t value, std::size_t other) {
    return static_cast<std::uint32_t>(value < 0 ? other : static_cast<std::size_t>(value));
  };
  Words archive, directory;
  for (const ZipPart& part : parts) {
    const Bytes packed = part.packed        ? *part.packed
                         : part.method == 8 ? deflated(part.bytes)
                                            : part.bytes;
    const auto flags = static_cast<std::uint16_t>(part.flags | (part.streamed ? 8 : 0));
    const std::uint32_t crc =
        or_else(part.crc, crc32(0, part.bytes.data(), static_cast<uInt>(part.bytes.size())));
    const std::uint32_t packed_size = or_else(part.packed_size, packed.size());
    const std::uint32_t size = or_else(part.size, part.bytes.size());
    const auto header_at = part.header_at.value_or(static_cast<std::uint32_t>(archive.size()));
    const std::uint32_t all = 0xffffffff;

    Words local_extra, extra;
    if (part.zip64) {
      local_extra.u16(1).u16(16).u64(part.streamed ? 0 : size).u64(part.streamed ? 0 : packed_size);
      extra.u16(1).u16(24).u64(size).u64(packed_size).u64(header_at);
    }
    local_extra.bytes(part.local_extra);
    extra.bytes(part.extra);

    const auto write = [&](Words& out, bool sizes_follow, std::string_view name,
                           const Words& more) {
      out.u16(part.zip64 ? 45 : 20).u16(flags).u16(part.method).u32(0x00210000);
      out.u32(sizes_follow ? 0 : crc);
      out.u32(part.zip64 ? all : sizes_follow ? 0 : packed_size);
      out.u32(part.zip64 ? all : sizes_follow ? 0 : size);
      out.u16(static_cast<std::uint16_t>(name.size()));
      out.u16(static_cast<std::uint16_t>(more.size()));
    };
    directory.u32(0x02014b50).u16(20);
    write(directory, false, part.name, extra);
    directory.u16(0).u16(0).u16(0).u32(0).u32(part.zip64 ? all : header_at);
    directory.text(part.name).bytes(extra.bytes());

    const std::string& local_name = part.local_name ? *part.local_name : part.name;
    archive.u32(0x04034b50);
    write(archive, part.streamed, local_name, local_extra);
    archive.text(local_name).bytes(local_extra.bytes()).bytes(packed);
    if (part.streamed) {
      archive.u32(0x08074b50).u32(crc);
      part.zip64 ? archive.u64(packed_size).u64(size) : archive.u32(packed_size).u32(size);
    }
  }

  const std::uint64_t directory_at = archive.size();
  archive.bytes(directory.bytes());
  const std::uint64_t end_at = archive.size();
  const auto count = static_cast<std::uint16_t>(parts.size());
  if (tail.zip64) {
    archive.u32(0x06064b50).u64(44).u16(45).u16(45).u32(0).u32(0).u64(count).u64(count);
    archive.u64(directory.size()).u64(directory_at);
    archive.u32(0x07064b50).u32(0).u64(end_at).u32(1);
  }
  const bool is_elsewhere = tail.zip64 && !tail.both;
  archive.u32(0x06054b50).u16(0).u16(0);
  archive.u16(is_elsewhere ? 0xffff : count).u16(is_elsewhere ? 0xffff : count);
  archive.u32(is_elsewhere ? 0xffffffff : static_cast<std::uint32_t>(directory.size()));
  archive.u32(is_elsewhere ? 0xffffffff : static_cast<std::uint32_t>(directory_at));
  archive.u16(static_cast<std::uint16_t>(tail.comment.size())).text(tail.comment);
  return {archive.bytes().begin(), archive.bytes().end()};
}

}  // namespace gantry::test
