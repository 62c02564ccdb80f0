// SPDX-License-Identifier: Apache-2.0
//
// A file that appears whole or not at all: written beside its place, then renamed.
#pragma once

#include <gantry/result.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

namespace gantry {

class AtomicFile {
 public:
  // Makes a file with a name of its own in the directory of `path`. The destructor removes it unless
  // commit() has given it its place.
  //
  // returns  invalid what is there is no regular file; not_found no such directory; unavailable no permission, no space
  //          and the like
  static Result<AtomicFile> beside(const std::filesystem::path& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // Open for writing and reading; borrowed.
  std::FILE* stream() const { return stream_; }

  // Writes through to the disk and moves the file to `path`, in place of what is there.
  Status commit();

 private:
  explicit AtomicFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  std::string beside_;
  // NULL: there is no file
  std::FILE* stream_ = nullptr;
};

}  // namespace gantry
