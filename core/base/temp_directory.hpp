// SPDX-License-Identifier: Apache-2.0
//
// The directory in which one artifact is built. It is in the directory of the target: on the same
// file system, so that the finished file can be renamed, and not in /tmp, which may be in memory.
// What is executed is made only where no other user can replace the directory.
#pragma once

#include "core/base/signal_cleanup.hpp"

#include <gantry/result.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

class TempDirectory {
 public:
  // Creates ".<file name>.XXXXXX" in the target's directory.
  //
  // target   [in]   path of a file, which need not exist
  // returns  not_found   the target's directory does not exist
  //          unavailable no permission, no space, read-only file system
  static Result<TempDirectory> beside(const std::filesystem::path& target);

  // Creates ".<name>.XXXXXX" in a directory of temporary files: one whose path only this user and
  // root can change, or a sticky one such as /tmp.
  //
  // returns  unavailable, with the directory, the reason, and that TMPDIR names another one
  static Result<TempDirectory> in(const std::filesystem::path& directory, std::string_view name);

  // True if no other user but root can replace a directory that beside() creates.
  static bool is_safe_beside(const std::filesystem::path& target);

  // Removes the directory and everything in it. Does not allocate.
  ~TempDirectory();
  TempDirectory(TempDirectory&& other) noexcept
      : name_(std::exchange(other.name_, {})),
        path_(std::move(other.path_)),
        directory_(std::exchange(other.directory_, -1)),
        cleanup_(std::move(other.cleanup_)) {}
  TempDirectory& operator=(TempDirectory&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  TempDirectory() = default;
  // empty: nothing to remove
  std::string name_;
  std::filesystem::path path_;
  // open, for the destructor
  int directory_ = -1;
  std::unique_ptr<CleanUpOnSignal> cleanup_;
};

}  // namespace gantry
