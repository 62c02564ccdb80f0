// SPDX-License-Identifier: Apache-2.0
//
// What a file is, by its bytes: suffixes are not looked at.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry::cli {

enum class FileKind {
  shared_library,
  program,
  object,
  // any other ELF file
  elf,
  // of the linker (ar)
  archive,
  tar,
  // a tar with metadata.json at its top
  model_library,
  parameters,
  npy,
  // any ZIP archive
  npz,
  // without a library around it
  container,
  unknown,
};

// As `inspect --json` has it: "shared-library", ...
std::string_view name_of(FileKind kind);
// As a sentence has it: "a shared library".
std::string_view words_for(FileKind kind);

// costs    O(1), but for a tar: O(members)
FileKind kind_of(std::span<const std::uint8_t> bytes);

// The first bytes of a file of unknown kind, in words: "text", "a gzip file",
// "bytes 00 01 02 ...".
std::string first_bytes_text(std::span<const std::uint8_t> bytes);

}  // namespace gantry::cli
