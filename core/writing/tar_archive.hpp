// SPDX-License-Identifier: Apache-2.0
//
// Describes a tar archive whose bytes depend on the names and contents of its members only: sorted
// by name, regular files of mode 0644, owner 0, time 0.
//
//     | header "a/x.o" 512 | content, zeros to 512 | header ... | 1024 zeros |
#pragma once

#include "core/writing/pieces.hpp"

#include <map>
#include <string>

namespace gantry {

// Contents by name: "codegen/host/lib/m_lib0.o".
using TarContents = std::map<std::string, Pieces>;

// Returns the archive. Contents that are ranges of files stay in their files.
//
// returns  invalid  a name that does not fit in a ustar header: at most 100 bytes, or at most 155
//                   and 100 divided by a '/'
// source   POSIX.1 pax interchange format, ustar header; sizes from 8 GiB on as GNU tar stores them
Result<Pieces> write_tar(TarContents&& contents);

}  // namespace gantry
