// SPDX-License-Identifier: Apache-2.0
//
// A hidden directory in which a tree of files is written before it is renamed to its final place.
//
//     <parent>/.<name>.XXXXXX/   written, fsync   --rename-->   <parent>/<name>/
#pragma once

#include "core/base/signal_cleanup.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// Of all that is added to a directory.
struct StagingLimits {
  std::uint64_t bytes = std::uint64_t{2} << 30;
  // files and directories
  std::size_t files = 10'000;
};

class StagingDirectory {
 public:
  // Creates an empty directory beside `target`, with mode 0755.
  //
  // returns  not_found    the parent does not exist
  //          unavailable  no permission, no space, read-only file system
  static Result<StagingDirectory> beside(const std::filesystem::path& target,
                                         const StagingLimits& limits = {});

  // Removes the directory with all that was added, unless it was renamed. A signal that ends the
  // process does the same.
  ~StagingDirectory();
  StagingDirectory(StagingDirectory&&) noexcept = default;
  StagingDirectory& operator=(StagingDirectory&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const StagingLimits& limits() const { return limits_; }

  // Adds a directory or a file, and the directories that lead to it. Files have mode 0644 or 0755,
  // whatever the umask is, and are on the disk afterwards.
  //
  // name     [in]   relative path; an empty part, "." or ".." is refused
  // bytes    [in]   of all files at most limits().bytes
  // returns  malformed with the name, if it leaves the directory, exists, or exceeds a limit;
  //          unavailable with errno
  Status add_directory(std::string_view name);
  Status add_file(std::string_view name, std::span<const std::uint8_t> bytes, bool executable);

  // Renames `part` of the directory, or the whole if it is empty, to `target`, and removes the rest.
  // All that was added is on the disk before.
  //
  // returns  invalid if `target` exists; unavailable with errno. Nothing is renamed after a failure
  Status move_to(std::string_view part, const std::filesystem::path& target);

 private:
  struct Added;
  StagingDirectory() = default;
  Status check(std::string_view name) const;
  Status make_directory(const std::string& path);

  std::filesystem::path path_;
  StagingLimits limits_;
  // removed by the cleanup, in reverse order; NULL after a move of this object
  std::shared_ptr<Added> added_;
  std::unique_ptr<CleanUpOnSignal> cleanup_;
  std::uint64_t bytes_ = 0;
};

}  // namespace gantry::cli
