// SPDX-License-Identifier: Apache-2.0
//
// A regular file, opened without surprises and mapped read-only.
#pragma once

#include <gantry/result.hpp>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace gantry {

// The same file under another spelling, through a link or by an inherited descriptor has the same
// identity; a copy has not.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

class MappedFile {
 public:
  // Opens `path` (links are followed) and maps it. Never blocks on a FIFO, never reads a device.
  //
  // returns  not_found    nothing has that name; the text says which part of the path is missing
  //          unavailable  no permission, or the mapping is refused by the machine
  //          exhausted    no descriptor or memory left
  //          malformed    empty, or a directory, FIFO, socket, device instead of a file
  // lifetime bytes() live as long as the last owner. Who cuts the file meanwhile takes the pages
  //          with it: install by rename, never by overwriting
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  // as it was given
  const std::filesystem::path& path() const { return path_; }
  FileIdentity identity() const { return identity_; }
  // The open descriptor, for pread and /proc/self/fd; borrowed.
  int descriptor() const { return descriptor_; }

 private:
  MappedFile(std::filesystem::path path, FileIdentity identity)
      : path_(std::move(path)), identity_(identity) {}

  std::filesystem::path path_;
  FileIdentity identity_;
  int descriptor_ = -1;
  std::span<const std::uint8_t> bytes_;
};

}  // namespace gantry
