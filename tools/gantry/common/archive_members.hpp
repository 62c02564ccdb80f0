// SPDX-License-Identifier: Apache-2.0
//
// Lists the members of ar and tar archives by name and size. Nothing is extracted.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

struct ArchiveMember {
  // as stored in the archive
  std::string name;
  std::uint64_t size = 0;
};

// The members of an ar archive, without its symbol and name tables.
//
// returns  malformed at the first invalid header
// source   ar(5): System V form (GNU ld) and BSD long names
Result<std::vector<ArchiveMember>> read_ar_members(std::span<const std::uint8_t> bytes);

// The regular files of a tar archive.
//
// returns  malformed at the first invalid header or wrong checksum
// source   POSIX.1 pax interchange format, ustar header; GNU long names
Result<std::vector<ArchiveMember>> read_tar_members(std::span<const std::uint8_t> bytes);

}  // namespace gantry::cli
