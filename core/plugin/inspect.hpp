// SPDX-License-Identifier: Apache-2.0
//
// Everything that can be said about a plugin without running its code.
//
// The system's linker says it badly or not at all: a library for another CPU is "No such file or directory" to it, a
// missing dependency is named without who wants it, a FIFO hangs it and a truncated file kills the process. So the
// file is judged here before it gets there.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/manifest/manifest.hpp"

#include <gantry/plugin.h>
#include <gantry/result.hpp>

#include <memory>
#include <string>
#include <vector>

namespace gantry {

enum class Depth {
  // the library itself and what it names: before every opening
  quick,
  // also what those name, and the symbol versions they have: for doctor, and after a failed opening
  full,
};

struct Inspection {
  // keeps the identity of what was looked at
  std::shared_ptr<const MappedFile> file;
  std::vector<std::string> warnings;
};

// Checks, in this order, and stops at the first that fails. Every refusal has a reason of D2xx or D3xx.
//
//   manifest's `abi` against the core's                              ABI_RANGE
//   the library is there, a regular file, ELF, whole, a library      LIBRARY_MISSING NOT_A_FILE NOT_ELF TRUNCATED
//                                                                    EXECUTABLE ELF_BROKEN
//   for this machine, no executable stack                            WRONG_MACHINE EXEC_STACK
//   exports the query, imports nothing of the core                   QUERY_MISSING SYMBOL_MISSING
//   requires.device_nodes, files, libraries                          NO_DEVICE_NODE FILE_MISSING DRIVER_MISSING
//                                                                    DRIVER_TOO_OLD
//   needed libraries and symbol versions                             LIB_NEEDED_MISSING VERSION_NEEDED
//   full: static TLS that fits                                       STATIC_TLS
//
// costs    one mapping and the library's dynamic segment; full: those of all that it needs
Result<Inspection> inspect_plugin(const Manifest& manifest, const gantry_abi_range& core,
                                  Depth depth);

}  // namespace gantry
