// SPDX-License-Identifier: Apache-2.0
//
// The directory in which one artifact is built, beside its target: on the same file system, so that
// the finished file is renamed, and not in a /tmp that may be in memory.
#pragma once

#include <gantry/result.hpp>

#include <filesystem>

namespace gantry {

class TempDirectory {
 public:
  // Makes ".<file name>.XXXXXX" in the target's directory.
  //
  // target   [in]   a file, need not exist
  // returns  not_found   the target's directory does not exist
  //          unavailable no permission, no space, read-only, no descriptor
  static Result<TempDirectory> beside(const std::filesystem::path& target);

  // Removes it with all files in it. Needs neither memory nor another descriptor.
  ~TempDirectory();
  TempDirectory(TempDirectory&& other) noexcept
      : name_(std::exchange(other.name_, {})),
        path_(std::move(other.path_)),
        directory_(std::exchange(other.directory_, -1)) {}
  TempDirectory& operator=(TempDirectory&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  TempDirectory() = default;
  // empty: nothing is to be removed
  std::string name_;
  std::filesystem::path path_;
  // open, for the destructor
  int directory_ = -1;
};

}  // namespace gantry
