// SPDX-License-Identifier: Apache-2.0
//
// Checks of a plugin without running its code.
//
// The system's linker reports defects imprecisely or not at all: a library for another CPU is "No
// such file or directory", a missing dependency is named without the library that needs it, opening
// a FIFO blocks, and a truncated file kills the process. The file is therefore checked before the
// linker maps it.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/plugins/library/library_file.hpp"
#include "core/plugins/library/plugin_note.hpp"
#include "core/plugins/manifest/manifest.hpp"

#include <gantry/plugin.h>
#include <gantry/result.hpp>

#include <memory>
#include <string>
#include <vector>

namespace gantry {

enum class Depth {
  // The manifest and the library's own headers, symbols and dynamic tables. Used before every
  // opening.
  library,
  // Also the libraries that it needs, directly or not, and their symbol versions. Used if the
  // plugin is not opened (doctor), and to explain a failure of dlopen().
  dependencies,
};

struct Inspection {
  // keeps the identity of the inspected file
  std::shared_ptr<const MappedFile> file;
  PluginNote note;
  std::vector<Message> warnings;
};

// Runs these checks in order and returns the first failure. Every failure has a reason of D2xx or
// D3xx.
//
//   manifest's `abi` against the core's           ABI_RANGE
//   the library exists, is a regular file         LIBRARY_MISSING NOT_A_FILE
//   of 4 KiB to 4 GiB                             LIBRARY_SIZE
//   `rules.opened`: the file that this process    RESTART_NEEDED STALE_MAPPED
//   has opened, if it has
//   `rules.trust`                                 PERMISSIONS DIGEST LOCK_MISMATCH
//   ELF, complete, a shared library               NOT_ELF TRUNCATED EXECUTABLE ELF_BROKEN
//   for this machine, no executable stack         WRONG_MACHINE PAGE_SIZE EXEC_STACK
//   exports the query, imports no core symbols    QUERY_MISSING SYMBOL_MISSING
//   has a note (gantry/note.h) with the           NOTE_MISSING NOTE_INVALID ID_MISMATCH
//   manifest's id, version and ABI range          VERSION_MISMATCH ABI_MISMATCH ABI_RANGE
//   that fits this program and this CPU           SANITIZER ISA
//   `rules.trust` of the files to which           PERMISSIONS
//   DT_RUNPATH or DT_RPATH leads
//   requires.device_nodes, files, libraries       NO_DEVICE_NODE FILE_MISSING DRIVER_MISSING
//                                                 DRIVER_TOO_OLD
//
// and with Depth::dependencies:
//
//   needed libraries, their symbol versions       LIB_NEEDED_MISSING VERSION_NEEDED
//   and the symbols that are imported of them     SYMBOL_MISSING
//   static TLS that fits                          STATIC_TLS
//
// costs    one mapping of the library; with dependencies also of all libraries that it needs
Result<Inspection> inspect_plugin(const Manifest& manifest, const gantry_abi_range& core,
                                  Depth depth, const LibraryRules& rules = {});

}  // namespace gantry
