// SPDX-License-Identifier: Apache-2.0
//
// A regular file that is open and mapped read-only.
#pragma once

#include "core/base/owned_range.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/result.hpp>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <utility>

struct stat;

namespace gantry {

// Identifies a file independently of its path: equal for other spellings of the path, links and
// inherited descriptors, different for a copy.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  auto operator<=>(const FileIdentity&) const = default;
};
FileIdentity identity_of(const struct stat& file);

class MappedFile {
 public:
  // Opens `path`, following links, and maps it. Never blocks on a FIFO and never reads a device.
  //
  // returns  not_found    the path does not exist; the text names the part that does
  //          unavailable  no permission, or the file cannot be mapped
  //          exhausted    no descriptor or memory left
  //          malformed    the file is empty, or a directory, FIFO, socket or device
  // lifetime bytes() are valid as long as the object. If the file is truncated meanwhile, reading
  //          the lost pages raises SIGBUS: install files by rename, never by overwriting
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);

  // The same for a file that is open for reading.
  //
  // path     [in]   for messages and path()
  static Result<std::shared_ptr<const MappedFile>> adopt(Descriptor file,
                                                         const std::filesystem::path& path) {
    return adopt(std::move(file), path, false);
  }
  // A sealed copy of bytes in memory. Each has an identity of its own.
  //
  // name     [in]   for messages and path(): "model.so"
  // returns  as sealed_memory(); malformed: no bytes
  static Result<std::shared_ptr<const MappedFile>> copy(const std::filesystem::path& name,
                                                        std::span<const std::uint8_t> bytes);

  // A part of another file, which stays mapped. No bytes are copied.
  //
  // path     [in]   for messages and path()
  // part     [in]   of whole->bytes()
  // returns  malformed: no bytes. No descriptor, no identity
  static Result<std::shared_ptr<const MappedFile>> part_of(std::shared_ptr<const MappedFile> whole,
                                                           const std::filesystem::path& path,
                                                           std::span<const std::uint8_t> part);

  // Bytes before and after a part of a file, in one range. Pages of the file stay mapped and are not
  // copied.
  //
  // path     [in]   for messages and path()
  // part     [in]   of file.bytes()
  // returns  exhausted; unavailable: the file cannot be mapped. No descriptor, no identity
  // costs    a copy of `before`, `after` and at most two pages of the file
  static Result<std::shared_ptr<const MappedFile>> joined(const std::filesystem::path& path,
                                                          std::span<const std::uint8_t> before,
                                                          const MappedFile& file,
                                                          std::span<const std::uint8_t> part,
                                                          std::span<const std::uint8_t> after);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  // as passed to the function that created the object
  const std::filesystem::path& path() const { return path_; }
  FileIdentity identity() const { return identity_; }
  // True if copy() has created it: path() leads to no file.
  bool is_copy() const { return is_copy_; }
  // The open descriptor, for pread and /proc/self/fd; owned by this object. Negative: there is none.
  int descriptor() const { return descriptor_.get(); }

 private:
  static Result<std::shared_ptr<const MappedFile>> adopt(Descriptor file,
                                                         const std::filesystem::path& path,
                                                         bool is_copy);
  // Sets the mapping, which this object owns from now on.
  void own(void* mapping, std::size_t size);
  MappedFile(std::filesystem::path path, FileIdentity identity)
      : path_(std::move(path)), identity_(identity) {}

  std::filesystem::path path_;
  FileIdentity identity_;
  Descriptor descriptor_{-1};
  std::span<const std::uint8_t> bytes_;
  // of which bytes() is a part, mapped by it; else NULL
  std::shared_ptr<const MappedFile> whole_;
  // of which bytes() is a part
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  // Ends before the mapping.
  std::optional<OwnedRange> range_;
  bool is_copy_ = false;
};

}  // namespace gantry
