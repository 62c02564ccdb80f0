// SPDX-License-Identifier: Apache-2.0
//
// A file that is written under a temporary name in its directory and then renamed, so that the
// target is either replaced completely or left as it was.
#pragma once

#include "core/base/input_files.hpp"
#include "core/base/signal_cleanup.hpp"

#include <gantry/result.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace gantry {

class AtomicFile {
 public:
  // Creates a temporary file in the directory of `path`. The destructor removes it unless commit()
  // has succeeded.
  //
  // inputs   [in]   the files that `path` must not replace
  // returns  invalid      `path` is an input, or exists and is not a regular file
  //          not_found    the directory does not exist
  //          unavailable  no permission, no space, or another system error
  static Result<AtomicFile> beside(const std::filesystem::path& path, const InputFiles& inputs);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // Open for reading and writing; owned by this object.
  std::FILE* stream() const { return stream_; }

  // Flushes the file to the disk and renames it to `path`, replacing an existing file.
  Status commit();

 private:
  AtomicFile(std::filesystem::path path, InputFiles inputs)
      : path_(std::move(path)), inputs_(std::move(inputs)) {}

  std::filesystem::path path_;
  InputFiles inputs_;
  std::string beside_;
  // NULL: committed or moved from
  std::FILE* stream_ = nullptr;
  std::unique_ptr<CleanUpOnSignal> cleanup_;
};

}  // namespace gantry
