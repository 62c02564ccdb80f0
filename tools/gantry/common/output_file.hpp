// SPDX-License-Identifier: Apache-2.0
//
// Files that the tool writes: whole or not at all, and never through a link that somebody laid.
//
//     <directory>/.<name>.XXXXXX   written, fsync   --rename-->   <directory>/<name>
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gantry::cli {

// An open directory: what happens to its path afterwards does not matter.
class OutputDirectory {
 public:
  // Opens a directory for output, and creates it (not its parents) where nothing is there.
  //
  // returns  invalid      it is no directory, or a symbolic link ("out/" follows one, "out" does not)
  //          not_found    the directory above does not exist
  //          unavailable  no permission, no space
  static Result<OutputDirectory> create(const std::filesystem::path& path);

  ~OutputDirectory();
  OutputDirectory(OutputDirectory&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  OutputDirectory& operator=(OutputDirectory&&) = delete;

  // Writes one file. An older regular file of that name is replaced in one step.
  //
  // name     [in]   one component
  // returns  invalid      a link, directory, FIFO or device has that name: it is left alone
  //          unavailable  errno of the write; nothing is left behind
  Status write(std::string_view name, std::span<const std::uint8_t> bytes) const;

 private:
  friend Status write_output(const std::filesystem::path&, std::span<const std::uint8_t>);
  OutputDirectory(std::filesystem::path path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_;
};

// The same for one file whose directory exists, and may be reached through links.
Status write_output(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
Status write_output(const std::filesystem::path& path, std::string_view text);

}  // namespace gantry::cli
