// SPDX-License-Identifier: Apache-2.0
//
// Reads the data of one member of a zip archive, stored or deflated.
#pragma once

#include "core/base/passed_pages.hpp"
#include "core/formats/arrays/zip_directory.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <memory>
#include <span>

struct z_stream_s;

namespace gantry {

// Reads the decompressed data of a member sequentially.
class ZipMemberReader {
 public:
  // archive  [in]   the bytes that read_zip_directory() was called with
  // member   [in]   stored or deflated, not encrypted
  // file     [in]   of whose bytes `archive` is a part, and whose pages are released behind the
  //                 reader; NULL: the archive is in memory
  // returns  malformed  the local header differs from the directory
  //          exhausted  no memory for the state of zlib
  // lifetime `archive`, `member` and `file` must outlive the reader
  static Result<ZipMemberReader> open(std::span<const std::uint8_t> archive,
                                      const ZipMember& member, const MappedFile* file);

  // Decompresses the next bytes. Precondition: at least to.size() bytes of the member are left.
  //
  // returns  malformed  the packed data end earlier, or are not valid
  Status read(std::span<std::uint8_t> to);

  // Returns a view of the next bytes. Preconditions: those of read(), and the member is stored.
  std::span<const std::uint8_t> view(std::uint64_t size);

  // Checks the end of the member. Precondition: all of its bytes are read.
  //
  // returns  malformed  the checksum is wrong, or the packed data do not end
  Status finish();

 private:
  struct EndInflate {
    void operator()(z_stream_s* stream) const;
  };

  ZipMemberReader(const ZipMember& member, std::span<const std::uint8_t> packed,
                  const MappedFile* file)
      : member_(&member), packed_(packed), pages_(file) {}
  void pass(std::size_t size);
  Result<std::size_t> inflate_some(std::span<std::uint8_t> to);

  const ZipMember* member_;
  // not decompressed yet
  std::span<const std::uint8_t> packed_;
  // of the packed data
  PassedPages pages_;
  // NULL: the member is stored. Allocated separately, because zlib keeps its address
  std::unique_ptr<z_stream_s, EndInflate> stream_;
  bool stream_ended_ = false;
  // number of bytes read so far, and their checksum
  std::uint64_t done_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace gantry
