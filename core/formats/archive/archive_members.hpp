// SPDX-License-Identifier: Apache-2.0
//
// Lists the members of ar and tar archives. Nothing is extracted.
#pragma once

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct ArchiveMember {
  // as stored in the archive
  std::string name;
  std::uint64_t size = 0;
  // in the archive's bytes; empty for a link
  std::span<const std::uint8_t> content;
  // "symbolic link", "sparse file", of a tar archive; empty for a regular file
  std::string_view special;
  bool is_executable = false;
  // offset of the member's header
  std::uint64_t at = 0;
};

// A member of an empty file has 60 bytes in an ar archive and 512 in a tar archive, and its
// description about a hundred.
constexpr std::uint64_t max_archive_members = 65536;

// of the header of a member of a tar archive
constexpr std::size_t tar_header_bytes = 512;

// True if the bytes begin as a tar archive does: all forms but that of Unix v7.
bool is_tar(std::span<const std::uint8_t> bytes);

// The members of an ar archive, without its symbol and name tables.
//
// max_members  [in]  of the list
// returns  malformed at the first invalid header, or at the first member above the limit
// source   ar(5): System V form (GNU ld) and BSD long names
Result<std::vector<ArchiveMember>> read_ar_members(std::span<const std::uint8_t> bytes,
                                                   std::uint64_t max_members = max_archive_members);

// Returns false to end the visit.
using VisitMember = std::function<Result<bool>(ArchiveMember)>;

// Calls a function for each member of a tar archive, without its directories.
//
// returns  the failures of read_tar_members() before the visit ends, and those of `visit`
Status visit_tar_members(std::span<const std::uint8_t> bytes, const VisitMember& visit);

// Reads the next bytes into the start of a piece; returns their number, 0 at the end.
using ReadPiece = std::function<Result<std::size_t>(std::span<std::uint8_t> piece)>;

// Like visit_tar_members() for an archive that is read once, such as one that is decompressed; the
// content of its members is passed over.
//
// visit    [in]   members are without `content`
// returns  also the failures of `read`
// costs    64 KiB of memory
Status visit_tar_stream(const ReadPiece& read, const VisitMember& visit);

// The members of a tar archive, without its directories.
//
// max_members  [in]  of the list
// returns  malformed at the first invalid header, pax record or wrong checksum, or at
//          the first member above the limit
// source   POSIX.1 pax interchange format, ustar header; GNU tar manual, "Basic Tar Format" and
//          "Storing Sparse Files"
Result<std::vector<ArchiveMember>> read_tar_members(
    std::span<const std::uint8_t> bytes, std::uint64_t max_members = max_archive_members);

}  // namespace gantry
