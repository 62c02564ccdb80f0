// SPDX-License-Identifier: Apache-2.0
//
// Named arrays in one file, as numpy.savez() and savez_compressed() write them: a zip archive whose
// members are "<name>.npy".
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/formats/arrays/npy.hpp"
#include "core/formats/arrays/zip_directory.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
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
  // decompressed size of all members together
  std::uint64_t bytes = std::uint64_t{16} << 30;
};

class NpzReader {
 public:
  // Reads and checks the directory of the archive. Decompresses no member. Deflate expands one byte
  // to at most 1032; a larger size is rejected.
  //
  // returns  malformed    not a zip archive; a name occurs twice; sizes contradict each other
  //          unsupported  a member is encrypted, compressed by another method than deflate, or not
  //                       an .npy file
  //          exhausted    a value in `limits` is exceeded
  // file     [in]   of whose bytes `bytes` are a part: the functions below release the pages that
  //                 they have read, so that their memory does not grow with the members. NULL: the
  //                 bytes are in memory
  // lifetime `bytes` and `file` must outlive the reader
  // costs    O(members log members) time, O(members) memory
  static Result<NpzReader> over(std::span<const std::uint8_t> bytes, const NpzLimits& limits = {},
                                const MappedFile* file = nullptr);

  // In the archive's order.
  const std::vector<ZipMember>& members() const { return members_; }

  // Reads the header of one of members(). Decompresses no more than the header and does not check
  // the checksum.
  //
  // returns  as read_npy_header(); malformed if the size of the member does not match dtype and
  //          shape
  Result<ArrayHeader> header(const ZipMember& member) const;

  // Decompresses the data of a member and checks its checksum.
  //
  // header   [in]   of this member, from header()
  // to       [out]  header.data_bytes bytes; undefined after a failure
  // returns  malformed  the packed data or the checksum are wrong
  Status read_data(const ZipMember& member, const ArrayHeader& header,
                   std::span<std::uint8_t> to) const;

  // As read_data(), in parts: calls `sink` with up to 1 MiB at once, which is undefined after the
  // call. After a failure it has been called with a part of the data.
  Status copy_data(const ZipMember& member, const ArrayHeader& header,
                   const std::function<void(std::span<const std::uint8_t>)>& sink) const;

  // Checks the checksum of a stored member and returns a view of its data; nullopt if the member is
  // compressed.
  //
  // header   [in]   of this member, from header()
  // costs    O(data)
  Result<std::optional<std::span<const std::uint8_t>>> stored_data(const ZipMember& member,
                                                                   const ArrayHeader& header) const;

 private:
  NpzReader(std::span<const std::uint8_t> bytes, std::vector<ZipMember> members,
            const MappedFile* file)
      : bytes_(bytes), members_(std::move(members)), file_(file) {}
  Result<ZipMemberReader> open_data(const ZipMember& member, std::uint64_t data_at,
                                    std::uint64_t data_bytes) const;
  Status finish(ZipMemberReader& reader, const ZipMember& member) const;
  void release(const ZipMember& member) const;

  std::span<const std::uint8_t> bytes_;
  std::vector<ZipMember> members_;
  const MappedFile* file_;
};

}  // namespace gantry
