// SPDX-License-Identifier: Apache-2.0
//
// What lies in an archive of the linker, and in a tar: names and sizes. Nothing is unpacked.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

struct ArchiveMember {
  // as it stands in the archive
  std::string name;
  std::uint64_t size = 0;
};

// Members without symbol and name tables.
//
// returns  malformed at the first header that is none
// source   ar(5): System V form (GNU ld) and BSD long names
Result<std::vector<ArchiveMember>> read_ar_members(std::span<const std::uint8_t> bytes);

// Regular files, directories left out.
//
// returns  malformed at the first header that is none, or whose checksum is wrong
// source   POSIX.1 pax interchange format, ustar header; GNU long names
Result<std::vector<ArchiveMember>> read_tar_members(std::span<const std::uint8_t> bytes);

}  // namespace gantry::cli
