// SPDX-License-Identifier: Apache-2.0
//
// A directory of output files, each written completely or not at all, and never through a symbolic
// link.
//
//     <directory>/.<name>.XXXXXX   written, fsync   --rename-->   <directory>/<name>
#pragma once

#include "core/base/input_files.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

namespace gantry::cli {

// An open directory; later changes of its path have no effect.
class OutputDirectory {
 public:
  // Opens a directory for output. Creates it, but not its parents, if it does not exist.
  //
  // inputs   [in]   the files that no output may replace
  // returns  invalid      not a directory, or a symbolic link ("out/" follows one, "out" does not)
  //          not_found    the parent directory does not exist
  //          unavailable  no permission, no space
  static Result<OutputDirectory> create(const std::filesystem::path& path,
                                        const InputFiles& inputs);

  ~OutputDirectory();
  OutputDirectory(OutputDirectory&& other) noexcept
      : path_(std::move(other.path_)),
        inputs_(std::move(other.inputs_)),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  OutputDirectory& operator=(OutputDirectory&&) = delete;

  // Writes one file. Replaces an existing regular file of that name atomically.
  //
  // name     [in]   one path component
  // returns  invalid      an input, link, directory, FIFO or device has that name; it is unchanged
  //          unavailable  the write failed, with its errno; no temporary file remains
  Status write(std::string_view name, std::span<const std::uint8_t> bytes) const;

 private:
  OutputDirectory(std::filesystem::path path, InputFiles inputs, int descriptor)
      : path_(std::move(path)), inputs_(std::move(inputs)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  InputFiles inputs_;
  int descriptor_;
};

}  // namespace gantry::cli
