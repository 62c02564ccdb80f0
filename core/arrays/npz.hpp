// SPDX-License-Identifier: Apache-2.0
//
// Named arrays in one file, as numpy.savez() and savez_compressed() write them: a zip archive whose
// members are "<name>.npy".
#pragma once

#include "core/arrays/npy.hpp"
#include "core/arrays/zip_directory.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

class ZipMemberReader;

// Ends the name of every member.
constexpr std::string_view npz_suffix = ".npy";

struct NpzLimits {
  std::uint64_t members = 65536;
  // of all members together, unpacked
  std::uint64_t bytes = std::uint64_t{16} << 30;
};

class NpzReader {
 public:
  // Reads the directory of the archive and checks it before a member is unpacked. Deflate gives at
  // most 1032 bytes for one: a larger size is refused.
  //
  // returns  malformed    no zip archive; a name occurs twice; sizes contradict one another
  //          unsupported  a member is encrypted, compressed by another method than deflate, or no
  //                       .npy file
  //          exhausted    beyond `limits`
  // lifetime `bytes` until the reader's end
  // costs    O(members log members) time, O(members) memory
  static Result<NpzReader> over(std::span<const std::uint8_t> bytes, const NpzLimits& limits = {});

  // In the archive's order.
  const std::vector<ZipMember>& members() const { return members_; }

  // Reads the header of one of members(). Unpacks no more than that; does not check the checksum.
  //
  // returns  as read_npy_header(); malformed where the member has another size than dtype and shape
  //          require
  Result<ArrayHeader> header(const ZipMember& member) const;

  // Unpacks the data of a member and checks its checksum.
  //
  // header   [in]   of this member, from header()
  // to       [out]  header.data_bytes bytes; undefined after a failure
  // returns  malformed  the packed data or the checksum are wrong
  Status read_data(const ZipMember& member, const ArrayHeader& header,
                   std::span<std::uint8_t> to) const;

  // Checks the checksum of a stored member and returns its data in the archive; nothing where the
  // member is compressed.
  //
  // header   [in]   of this member, from header()
  // costs    O(data)
  Result<std::optional<std::span<const std::uint8_t>>> stored_data(const ZipMember& member,
                                                                   const ArrayHeader& header) const;

 private:
  NpzReader(std::span<const std::uint8_t> bytes, std::vector<ZipMember> members)
      : bytes_(bytes), members_(std::move(members)) {}
  Result<ZipMemberReader> open_data(const ZipMember& member, std::uint64_t data_at,
                                    std::uint64_t data_bytes) const;

  std::span<const std::uint8_t> bytes_;
  std::vector<ZipMember> members_;
};

}  // namespace gantry
