// SPDX-License-Identifier: Apache-2.0
//
// Determines the kind of a file from its bytes; the suffix is ignored.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

enum class FileKind {
  shared_library,
  program,
  object,
  // any other ELF file
  elf,
  // ar
  archive,
  tar,
  // a tar archive with metadata.json in its top directory
  model_library,
  parameters,
  npy,
  // any ZIP archive
  npz,
  // a container that is not in a library
  container,
  // a directory with an index and shards
  weights,
  unknown,
};

// The name in `inspect --json`: "shared-library", ...
std::string_view name_of(FileKind kind);
// The words for a sentence: "a shared library", ...
std::string_view words_for(FileKind kind);

// Never returns `weights`.
//
// costs    O(1); for a tar archive O(members) up to metadata.json or the limit of TarLimits
FileKind kind_of(std::span<const std::uint8_t> bytes);

// Describes the first bytes of a file of unknown kind: "a gzip file", "text that begins with "a"",
// "bytes that begin with 00 01".
std::string first_bytes_text(std::span<const std::uint8_t> bytes);

// The refusal of a file that is nothing that can be inspected or loaded, with what it is instead.
//
// name     [in]   of the file, as given
// expected [in]   what the caller takes
// returns  unsupported, reason FILE_KIND
Failure not_an_artifact(std::string_view name, std::span<const std::uint8_t> bytes,
                        std::string_view expected =
                            "a shared library, an object file, an archive, a bare container or a "
                            "parameter file");

}  // namespace gantry
