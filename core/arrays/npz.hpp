// SPDX-License-Identifier: Apache-2.0
//
// Named arrays in one file, as numpy.savez() and savez_compressed() write them: a zip archive whose
// members are "<name>.npy".
#pragma once

#include "core/arrays/npy.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace gantry {

struct NpzLimits {
  std::uint64_t members = 65536;
  // of all members together, unpacked
  std::uint64_t bytes = std::uint64_t{16} << 30;
};

struct NpzMember {
  // without ".npy"; any bytes, as the archive has them
  std::string name;
  std::uint64_t packed_bytes = 0;
  // unpacked, with the .npy header
  std::uint64_t bytes = 0;
};

// An array with its memory. Moves, and array.data stays valid.
struct NpzArray {
  std::string name;
  // data views `storage`
  NpyArray array;
  std::unique_ptr<std::uint8_t[]> storage;
};

class NpzReader {
 public:
  // Reads the directory of the archive, and refuses what it says about any member before a byte of
  // one is unpacked: deflate gives at most 1032 bytes for one, so a larger claim is no archive.
  //
  // returns  not_found, unavailable  the file
  //          malformed    no zip archive, or an empty one; a name twice; sizes that cannot be
  //          unsupported  an encrypted member, a compression other than deflate, no .npy member
  //          exhausted    beyond `limits`
  // thread   one at a time for each reader
  // costs    O(members)
  static Result<NpzReader> open(const std::filesystem::path& path, const NpzLimits& limits = {});

  // The same over an archive in memory.
  //
  // lifetime `bytes` until the reader's end
  static Result<NpzReader> over(std::span<const std::uint8_t> bytes, const NpzLimits& limits = {});

  NpzReader(NpzReader&&) noexcept;
  NpzReader& operator=(NpzReader&&) noexcept;
  ~NpzReader();

  // in the archive's order
  const std::vector<NpzMember>& members() const;

  // What the member's header says; only so much of it is unpacked, and its sum is not checked.
  //
  // returns  as read()
  Result<NpyHeader> header(std::string_view name);

  // Unpacks a member's data to where they are wanted and checks its sum.
  //
  // header   [in]   of this member, from header()
  // to       [out]  header.data_bytes bytes
  // returns  as read()
  Status read_data(std::string_view name, const NpyHeader& header, std::span<std::uint8_t> to);

  // Unpacks one member whole and checks its sum.
  //
  // returns  not_found  listing the members there are
  //          malformed  packed data or .npy bytes are wrong; read_npy() tells the rest
  Result<NpzArray> read(std::string_view name);

 private:
  struct Archive;
  class Unpacking;
  Result<const NpzMember*> find(std::string_view name) const;
  explicit NpzReader(std::unique_ptr<Archive> archive);
  static Result<NpzReader> from(std::unique_ptr<Archive> archive, const NpzLimits& limits);

  std::unique_ptr<Archive> archive_;
};

// An array to write; everything borrowed.
struct NpzItem {
  std::string_view name;
  gantry_dtype dtype{};
  std::span<const std::int64_t> shape;
  std::span<const std::uint8_t> data;
};

// Writes the archive beside `path`, then renames. Members are stored as they are and dated
// 1980-01-01: the same arrays give the same bytes.
//
// returns  invalid  no items; a name is empty, taken twice, above 1024 bytes or holds NUL; see
//                   npy_bytes()
//          not_found, unavailable  the file; what was at `path` is untouched
Status write_npz(const std::filesystem::path& path, std::span<const NpzItem> items);

}  // namespace gantry
