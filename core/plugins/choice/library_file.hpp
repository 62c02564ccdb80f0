// SPDX-License-Identifier: Apache-2.0
//
// A plugin's library as a file: mapped and parsed, not opened by the system's linker.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/plugins/manifest/manifest.hpp"

#include <gantry/result.hpp>

#include <functional>
#include <memory>
#include <string>

namespace gantry {

struct LibraryFile {
  std::shared_ptr<const MappedFile> file;
  // views into the file
  ElfFile elf;
};

// Decides whether an opened library may be used, before its content is parsed.
using LibraryCheck = std::function<Status(const MappedFile& library)>;
// Decides whether a file may be used that the linker opens for a library.
using FileCheck = std::function<Status(const std::string& file)>;

// Opens the library of a manifest, without blocking on a FIFO, and checks that it is a complete ELF
// file, a shared library, not this program, and of 4 KiB to 4 GiB.
//
// check    [in]   empty: every library may be used
// returns  the error of `check`, or one with the reason LIBRARY_MISSING, NOT_A_FILE, NOT_ELF,
//          TRUNCATED, WRONG_MACHINE (32-bit or big-endian), ELF_BROKEN, EXECUTABLE, LIBRARY_SIZE,
//          LIBRARY_UNREADABLE (no permission) or EXHAUSTED (no descriptor or memory left)
Result<LibraryFile> open_library_file(const Manifest& manifest, const LibraryCheck& check = {});

}  // namespace gantry
