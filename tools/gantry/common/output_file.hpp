// SPDX-License-Identifier: Apache-2.0
//
// Files that the tool writes: whole or not at all, and never through a link that somebody laid.
//
//     <folder>/.<name>.XXXXXX   written, fsync   --rename-->   <folder>/<name>
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gantry::cli {

// An open folder: what happens to its path afterwards does not matter.
class OutputFolder {
 public:
  // Opens a folder for output, and creates it (not its parents) where nothing is there.
  //
  // returns  invalid      it is no folder, or a symbolic link ("out/" follows one, "out" does not)
  //          not_found    the folder above does not exist
  //          unavailable  no permission, no space
  static Result<OutputFolder> create(const std::filesystem::path& path);

  ~OutputFolder();
  OutputFolder(OutputFolder&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  OutputFolder& operator=(OutputFolder&&) = delete;

  // Writes one file. An older regular file of that name is replaced in one step.
  //
  // name     [in]   one component
  // returns  invalid      a link, folder, FIFO or device has that name: it is left alone
  //          unavailable  errno of the write; nothing is left behind
  Status write(std::string_view name, std::span<const std::uint8_t> bytes) const;

 private:
  friend Status write_output(const std::filesystem::path&, std::span<const std::uint8_t>);
  OutputFolder(std::filesystem::path path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_;
};

// The same for one file whose folder exists, and may be reached through links.
Status write_output(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
Status write_output(const std::filesystem::path& path, std::string_view text);

}  // namespace gantry::cli
