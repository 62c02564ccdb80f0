// SPDX-License-Identifier: Apache-2.0
//
// Signatures inside of ELF files, which a change of the file makes invalid.
#pragma once

#include "core/formats/elf/elf_image.hpp"

#include <gantry/result.hpp>

#include <optional>
#include <string>

namespace gantry {

// A signature of a file, for messages.
struct ElfSignature {
  // `section ".codesign"`
  std::string part;
  // the programs that write it
  std::string_view writer;
  // file offset
  std::uint64_t at = 0;
};

// Finds a signature by the names and types of sections, or behind the last section. The signature
// is not verified.
//
// costs    O(sections)
Result<std::optional<ElfSignature>> find_signature(const ElfImage& image);

}  // namespace gantry
