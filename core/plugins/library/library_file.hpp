// SPDX-License-Identifier: Apache-2.0
//
// A plugin's library as a file: mapped and parsed, not opened by the system's linker.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/plugins/library/opened_plugins.hpp"
#include "core/plugins/manifest/manifest.hpp"
#include "core/plugins/trust/trust.hpp"

#include <gantry/result.hpp>

#include <memory>

namespace gantry {

struct LibraryFile {
  std::shared_ptr<const MappedFile> file;
  // views into the file
  ElfFile elf;
};

// Decides which files may be used; NULL: all.
struct LibraryRules {
  const Trust* trust = nullptr;
  const OpenedPlugins* opened = nullptr;

  // Checks a mapped library before its content is parsed.
  //
  // returns  RESTART_NEEDED, STALE_MAPPED; PERMISSIONS, DIGEST, LOCK_MISMATCH
  Status check(const Manifest& manifest, const MappedFile& library) const;
};

// Opens the library of a manifest, without blocking on a FIFO, and checks that it is a complete ELF
// file, a shared library, not this program, and of 4 KiB to 4 GiB.
//
// returns  the error of `rules`, or one with the reason LIBRARY_MISSING, NOT_A_FILE, NOT_ELF,
//          TRUNCATED, WRONG_MACHINE (32-bit or big-endian), ELF_BROKEN, EXECUTABLE, LIBRARY_SIZE,
//          LIBRARY_UNREADABLE (no permission) or EXHAUSTED (no descriptor or memory left)
Result<LibraryFile> open_library_file(const Manifest& manifest, const LibraryRules& rules = {});

}  // namespace gantry
