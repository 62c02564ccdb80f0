// SPDX-License-Identifier: Apache-2.0
//
// Builds CPU code, a shared library whose container is a placeholder of a few bytes, which
// append_container() replaces: the container itself never passes through the linker.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/writing/container.hpp"
#include "core/writing/generator/generators.hpp"

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

struct CpuCodeLibrary {
  std::shared_ptr<const MappedFile> file;
  ElfFile elf;
};

// Adds the placeholder to the sources, builds them, and checks the result.
//
// sources  [in]   files, relative to the directory of the generators' tools
// form     [in]   of the container: names the symbol, and the dialect that the code must have
// returns  the failures of build_payload()
//          not_found    the compiler writes no file
//          invalid      the result is no shared library (FILE_KIND); code of the other dialect
//                       (HOST_DIALECT)
//          unavailable  the library lacks the placeholder
Result<CpuCodeLibrary> build_cpu_code(std::vector<std::string> sources,
                                      const Generators& generators, Generation form);

// Builds CPU code that needs no container. A symbol marks the library as one of this project.
Result<CpuCodeLibrary> build_plain_code(const std::vector<std::string>& sources,
                                        Generators generators);

}  // namespace gantry
