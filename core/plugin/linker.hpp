// SPDX-License-Identifier: Apache-2.0
//
// Where the system's linker would find a library, asked without opening it.
//
// In the linker's order: already in the process; DT_RPATH (only without DT_RUNPATH); LD_LIBRARY_PATH as the process
// was started with it; DT_RUNPATH; /etc/ld.so.cache; the default directories. $ORIGIN is the directory of the library
// that asks. Agreement is for good messages: opening itself is the linker's, and its word is final.
#pragma once

#include "core/elf/elf_file.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

class Linker {
 public:
  // Asks the linker for its search list and maps its cache; the cache is read when it is needed.
  Linker();

  // returns  the library's path; empty text: it is in the process under a name without a path; nullopt: not found
  std::optional<std::string> find(std::string_view soname, const ElfFile& wanted_by,
                                  const std::string& wanted_by_path) const;
  // For a library that a program opens by itself, with no library asking.
  std::optional<std::string> find(std::string_view soname) const;

  // "searched $ORIGIN=/opt/acme/lib, the linker's cache, /usr/lib; found libacme.so.3 there"
  std::string describe_search(std::string_view soname, const ElfFile* wanted_by,
                              const std::string& wanted_by_path) const;

 private:
  struct Location {
    std::string shown, directory;
  };
  std::vector<Location> locations_of(const ElfFile* wanted_by, const std::string& wanted_by_path,
                                     bool before_cache) const;
  std::optional<std::string> search(std::string_view soname, const ElfFile* wanted_by,
                                    const std::string& wanted_by_path) const;
  template <class Visit>
  void each_cached(Visit&& visit) const;

  // NULL: there is none
  std::shared_ptr<const MappedFile> cache_;
  // LD_LIBRARY_PATH and the defaults
  std::vector<std::string> directories_;
};

// One of the dependencies of a library, direct or not, that is not there; empty: all are.
//
// depth    how many steps from `file`: 1 looks only at what it names itself
// returns  LIB_NEEDED_MISSING or VERSION_NEEDED, with the chain that leads to it
Status check_needed(const ElfFile& file, const std::string& path, const Linker& linker,
                    std::size_t depth);

}  // namespace gantry
