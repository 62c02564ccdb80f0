// SPDX-License-Identifier: Apache-2.0
//
// Reads the directory of a zip archive, with or without zip64 records.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// The directory entry of one member.
struct ZipMember {
  // any bytes
  std::string_view name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  // CRC-32 of the decompressed data
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0;
  // decompressed size
  std::uint64_t bytes = 0;
  // offset of the directory entry
  std::uint64_t entry_at = 0;
  // offset of the local header
  std::uint64_t header_at = 0;
  // offset of the next local header or of the directory
  std::uint64_t end_at = 0;
};

// Reads the directory at the end of an archive. Compares each number with the archive's size before
// using it. Does not read members.
//
// returns  the members in the directory's order. The header and the packed data of each one fit
//          before the next one, so members do not overlap
//          malformed  no directory, or a number in it exceeds the archive
//          exhausted  more than `max_members`
// lifetime names view `bytes`
// costs    O(members log members) time, O(members) memory
Result<std::vector<ZipMember>> read_zip_directory(std::span<const std::uint8_t> bytes,
                                                  std::uint64_t max_members);

}  // namespace gantry
