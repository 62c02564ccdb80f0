// SPDX-License-Identifier: Apache-2.0
//
// The output of a command: a file that is replaced completely or not at all, or a stream.
//
//     "-", a link to its file       standard output
//     a pipe or character device    written to, never replaced
//     anything else                 AtomicFile
#pragma once

#include "core/base/atomic_file.hpp"
#include "core/base/input_files.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

namespace gantry {

class OutputFile {
 public:
  // Checks the output, and opens it if it is a stream. Opening a pipe blocks until it has a reader.
  //
  // inputs   [in]   the files that the output must not replace
  // returns  invalid      `path` is an input, a directory, or a link to a regular file other than
  //                       that of standard output
  //          not_found, unavailable  the stream cannot be opened
  static Result<OutputFile> open(const std::filesystem::path& path, const InputFiles& inputs);

  const std::filesystem::path& path() const { return path_; }
  // True if nothing is replaced: the bytes are written to a pipe, a device or standard output.
  bool is_stream() const { return std::holds_alternative<Stream>(file_); }
  bool is_terminal() const;
  // True if the bytes go where standard output goes: then nothing else may be printed there.
  bool is_standard_output() const;
  // Checks that the bytes can go to a stream, and that an existing file is of the same kind: another
  // one was named by mistake.
  //
  // kind     [in]   for messages: "a tar archive"
  // accepts  [in]   true for the bytes of such a file
  // returns  invalid  a terminal, or a file of another kind; OK if there is no file or it cannot be
  //                   read
  Status check_replaces(std::string_view kind,
                        bool (*accepts)(std::span<const std::uint8_t> bytes)) const;
  // Creates the temporary file of a file, the first time. Separate from open(), so that a command
  // that ends before it writes leaves no file.
  //
  // returns  as AtomicFile::beside()
  Status start();
  // Open for writing after start(); owned by this object.
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

  using File = std::variant<InputFiles, AtomicFile, Stream>;
  OutputFile(std::filesystem::path path, File file)
      : path_(std::move(path)), file_(std::move(file)) {}
  static Result<OutputFile> of_descriptor(const std::filesystem::path& path, int descriptor);

  std::filesystem::path path_;
  // InputFiles: a file before start()
  File file_;
};

}  // namespace gantry
