// SPDX-License-Identifier: Apache-2.0
//
// The directory of a zip archive, in the plain and in the zip64 form.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// What the directory contains about one member.
struct ZipMember {
  // any bytes
  std::string_view name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  // of the unpacked data
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0;
  // unpacked
  std::uint64_t bytes = 0;
  // offset of the directory entry
  std::uint64_t entry_at = 0;
  // offset of the local header
  std::uint64_t header_at = 0;
  // offset of what follows the member: a local header or the directory
  std::uint64_t end_at = 0;
};

// Reads the directory at the end of an archive. Compares each number with the archive's size before
// it is used; does not read members.
//
// returns  the members in the directory's order; each has room for its header and its packed data
//          before the next one, so members do not overlap
//          malformed  no directory, or a number in it does not fit the archive
//          exhausted  more than `max_members`
// lifetime names view `bytes`
// costs    O(members log members) time, O(members) memory
Result<std::vector<ZipMember>> read_zip_directory(std::span<const std::uint8_t> bytes,
                                                  std::uint64_t max_members);

}  // namespace gantry
