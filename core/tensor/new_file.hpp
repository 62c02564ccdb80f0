// SPDX-License-Identifier: Apache-2.0
//
// A file that appears whole or not at all: written beside its place, then renamed.
#pragma once

#include <gantry/result.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

namespace gantry {

class NewFile {
 public:
  // Makes a file with a name of its own in the folder of `path`. The destructor removes it unless
  // commit() has given it its place.
  //
  // returns  invalid what is there is no regular file; not_found no such folder; unavailable no permission, no space
  //          and the like
  static Result<NewFile> beside(const std::filesystem::path& path);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  // Open for writing and reading; borrowed.
  std::FILE* stream() const { return stream_; }

  // Writes through to the disk and moves the file to `path`, in place of what is there.
  Status commit();

 private:
  explicit NewFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  std::string beside_;
  // NULL: there is no file
  std::FILE* stream_ = nullptr;
};

}  // namespace gantry
