// SPDX-License-Identifier: Apache-2.0
//
// The output of a command: a file that is replaced completely or not at all, or a stream.
//
//     "-"                           standard output
//     a pipe or character device    written to, never replaced
//     anything else                 AtomicFile
#pragma once

#include "core/base/atomic_file.hpp"
#include "core/base/input_files.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <variant>

namespace gantry {

class OutputFile {
 public:
  // Opens the output. Opening a pipe blocks until it has a reader.
  //
  // inputs   [in]   the files that the output must not replace
  // returns  invalid      `path` is an input, a directory, or a link to a regular file
  //          not_found, unavailable  the file cannot be created
  static Result<OutputFile> open(const std::filesystem::path& path, const InputFiles& inputs);

  const std::filesystem::path& path() const { return path_; }
  // True if the bytes go where standard output goes: then nothing else may be printed there.
  bool is_standard_output() const;
  // Open for writing; owned by this object.
  std::FILE* stream() const;
  // Writes the text, then commit().
  Status finish(std::string_view text);
  // Flushes the output; moves a file into its place.
  Status commit();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using Stream = std::unique_ptr<std::FILE, Close>;

  OutputFile(std::filesystem::path path, std::variant<AtomicFile, Stream> file)
      : path_(std::move(path)), file_(std::move(file)) {}
  static Result<OutputFile> of_descriptor(const std::filesystem::path& path, int descriptor);

  std::filesystem::path path_;
  std::variant<AtomicFile, Stream> file_;
};

}  // namespace gantry
