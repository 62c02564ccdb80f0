// SPDX-License-Identifier: Apache-2.0
//
// Finds libraries where the system's linker would find them, without opening them.
//
// The order is the linker's: libraries that are already in the process; DT_RPATH (only without
// DT_RUNPATH); LD_LIBRARY_PATH as of the start of the process; DT_RUNPATH; /etc/ld.so.cache; the
// default directories. $ORIGIN is the directory of the library that needs the other one. The
// results are only used for error messages; they do not affect dlopen().
#pragma once

#include "core/formats/elf/elf_file.hpp"

#include <gantry/ownership.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

class Linker {
 public:
  enum class Search {
    // as in this process
    process,
    // as in a new process without LD_LIBRARY_PATH
    installed,
  };

  // Reads the linker's search list and maps its cache.
  explicit Linker(Search search = Search::process);

  // Returns the library's path; an empty path if it is in the process without a path; nullopt if it
  // is not found.
  std::optional<std::string> find(std::string_view soname, const ElfFile& wanted_by,
                                  const std::string& wanted_by_path) const;
  // As above, for a library that a program opens directly.
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

  Search search_;
  // NULL if there is none
  std::shared_ptr<const MappedFile> cache_;
  // LD_LIBRARY_PATH and the defaults
  std::vector<std::string> directories_;
};

// Returns the directories of DT_RUNPATH, or else of DT_RPATH, in their order.
//
// path     [in]   of the library, for $ORIGIN
std::vector<std::string> search_path_of(const ElfFile& library, const std::string& path);

struct NeededLibrary {
  ElfFile elf;
  std::string path;
  // by which it is needed; empty for the file itself
  std::string soname;
  // "libgantry_acme.so -> libacme_rt.so.2"
  std::string chain;
};

struct NeededLibraries {
  // the file itself, then the libraries that it needs, breadth first, each once; libraries that
  // cannot be read are omitted
  std::deque<NeededLibrary> libraries;
  // in the order of the visits: unavailable, reason LIB_NEEDED_MISSING for each library that is not
  // found, VERSION_NEEDED for each version, with the chain of libraries that leads to it; the
  // search ends at 64
  std::vector<Error> problems;
  // some library was found and is not in the list: it cannot be read, or there are too many
  bool has_unreadable = false;
};

// Finds every library that `file` needs, directly or not.
//
// costs    one mapping for each library
NeededLibraries find_needed(const ElfFile& file, const std::string& path, const Linker& linker);

// Checks every file that the linker would try for a needed library by DT_RUNPATH or DT_RPATH, up to
// the first that exists, and likewise for the libraries that it finds there. Files of LD_LIBRARY_PATH
// and of the system's directories are not checked.
//
// ownership [in]  is asked for files that do not exist, too
// returns  the first error of `ownership`, with the library that needs the file
// costs    nothing for a library without a search path; otherwise one mapping for each library that
//          is found by one
Status check_search_paths(const ElfFile& file, const std::string& path, Ownership& ownership);

// Checks that every library that `file` needs, directly or not, exists, has the required symbol
// versions, and defines the symbols that are imported.
//
// returns  the problems of find_needed(); if there are none, the error of check_imports()
std::vector<Error> needed_problems(const ElfFile& file, const std::string& path,
                                   const Linker& linker);

// Returns the first of some problems; the next ones are lines of its text, up to a limit.
Status combined(std::vector<Error> problems);

}  // namespace gantry
