// SPDX-License-Identifier: Apache-2.0
//
// Links host code into a shared library whose container is a placeholder of a few bytes, which
// append_container() replaces: the container itself never passes through the linker.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/elf/elf_file.hpp"
#include "core/pack/container.hpp"
#include "core/toolchain/link.hpp"

#include <gantry/result.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The machine for which a compiler makes code, by its name (aarch64-linux-gnu-gcc) or its option
// (--target=aarch64-linux-gnu); else the host's.
//
// words    the compiler, its first arguments and flags
ElfMachine target_machine(const std::vector<std::string>& words);

struct HostCodeLibrary {
  std::shared_ptr<const MappedFile> file;
  ElfFile elf;
};

// Adds the placeholder to the sources of a job, links it, and checks the result.
//
// job      [in]   its output is the library
// form     [in]   of the container: names the symbol, and the dialect that the code must have
// returns  the failures of link_library()
//          not_found    the compiler writes no file
//          invalid      the result is no shared library (FILE_KIND); code of the other dialect
//                       (HOST_DIALECT)
//          unavailable  the library lacks the placeholder
Result<HostCodeLibrary> link_host_code(LinkJob job, ContainerForm form);

// Links host code that needs no container. A symbol marks the library as one of this project.
Result<HostCodeLibrary> link_plain_code(LinkJob job);

}  // namespace gantry
