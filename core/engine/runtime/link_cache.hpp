// SPDX-License-Identifier: Apache-2.0
//
// Links objects and C sources of a compiled model to a shared library, and keeps the library in a
// private cache, so that the compiler runs once for the same input.
//
//     inputs, compiler, flags, machine --digest--> <cache>/linked/<digest of it>.so
//
// The files are those of gantry/disk_cache.hpp, which begin with the library. The system's loader
// does not read what follows it. One that is not what was linked is written again.
//
// A source may include the headers of TVM's C code generators; generated_code.h has their content.
// The library defines the functions with which objects register their symbols in a system library,
// hidden and without effect, because the symbol table lists the same names.
#pragma once

#include "core/base/find_program.hpp"
#include "core/base/mapped_file.hpp"
#include "core/formats/elf/elf_types.hpp"

#include <gantry/disk_cache.hpp>
#include <gantry/message.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gantry {

// The contents of one file of a link.
struct LinkInput {
  // of the file, for messages; its suffix decides unless the content is an object: "lib0.o", "devc.c"
  std::string name;
  std::span<const std::uint8_t> bytes;
};

// True if link() accepts the file: an ELF object, or a C or C++ source by its suffix.
bool is_link_input(const LinkInput& file);

struct LinkCacheOptions {
  // the user's cache directory; empty: every link runs the compiler
  std::string directory;
  // of the libraries in the cache; the oldest are removed
  std::uint64_t max_bytes = std::uint64_t{2} << 30;
  // where the compiler runs if there is no cache; see TempDirectory::in()
  std::filesystem::path temporary = "/tmp";
  // a program and its first arguments
  std::vector<std::string> compiler = {"cc"};
  // finds the compiler
  ProgramSearch search;
  // for which the compiler compiles
  ElfMachine machine = host_machine();
  // The process has more privileges than its caller, whose environment decides what a compiler
  // does, so none is started.
  bool elevated = false;
  // may be empty
  std::function<void(const Message&)> log = {};
};

// Returns the options of the cache of libraries.
DiskCache::Options linked_libraries(const LinkCacheOptions& options);

class LinkCache {
 public:
  explicit LinkCache(LinkCacheOptions options) : options_(std::move(options)) {}

  // Returns the linked library. Without a cache it has no path; its file is removed once it is open.
  // On a file system that is mounted noexec it is a copy in memory.
  //
  // name     [in]   of the file that has the inputs, for messages and MappedFile::path()
  // files    [in]   at least one, each accepted by is_link_input()
  // returns  unavailable  COMPILER_MISSING no compiler is found; SECURE the process is elevated;
  //                       BLOB_ARCH an object is for another machine; the temporary directory
  //                       cannot be written
  //          invalid      COMPILE_FAILED: with the diagnostics
  // thread   any; processes and threads that link the same input at the same time each run the
  //          compiler
  // costs    a digest of the inputs and of the library; if it is not cached, seconds
  Result<std::shared_ptr<const MappedFile>> link(const std::filesystem::path& name,
                                                 std::span<const LinkInput> files) const;

 private:
  Result<std::filesystem::path> find_compiler(const std::filesystem::path& name,
                                              std::span<const LinkInput> files) const;

  LinkCacheOptions options_;
};

}  // namespace gantry
