// SPDX-License-Identifier: Apache-2.0
//
// The artifact's own shared library, opened: what it imports is judged first, for opening runs code.
//
//     map ─▶ read ELF ─▶ refuse ─▶ open libgantry_tvm.so if wanted ─▶ dlopen the file, or a private copy of it
//
// The bytes that were judged are those that run: a file that was replaced meanwhile is refused.
//
// Its variables (context pointers, module context, cached look-ups) serve one module graph, so each HostLibrary has
// the mapping for itself: where the process has the file open already, a second one gets a copy.
#pragma once

#include "core/elf/elf_file.hpp"
#include "core/format/exporter_facts.hpp"
#include "core/native/context.hpp"
#include "core/native/private_copy.hpp"

#include <gantry/result.hpp>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string_view>

namespace gantry {

// Checks by its bytes whether this host can run a library.
//
// facts    [in]   of the file
// location [in]   for messages: the file
// returns  the names that it imports from libgantry_tvm.so
//          malformed    cut short
//          unsupported  FILE_KIND no shared library; DIALECT_FFI; TVM_CPP, TVM_SYMBOLS what it imports
//          unavailable  BLOB_ARCH another CPU
Result<std::vector<std::string_view>> check_host_code(const ElfFile& elf,
                                                      const ExporterFacts& facts,
                                                      std::string_view location);

class HostLibrary {
 public:
  // Opens a library. Its constructors run, nothing else of it does.
  //
  // elf      [in]   of that file
  // facts    [in]   of that file
  // services [in]   whose libgantry_tvm.so is opened where the file imports from it
  // returns  malformed    cut short
  //          unsupported  no shared library; DIALECT_FFI; TVM_CPP; TVM_SYMBOLS
  //          unavailable  BLOB_ARCH another CPU; LIBRARY_NEEDED, LIBRARY_SYMBOLS what this host lacks, by name;
  //                       REPLACED_DURING_LOAD its path names another file by now
  // thread   any; one at a time in the process while the system opens it
  static Result<std::shared_ptr<HostLibrary>> open(std::shared_ptr<const MappedFile> file,
                                                   std::shared_ptr<const ElfFile> elf,
                                                   const ExporterFacts& facts,
                                                   const HostServices& services);

  // Closes it. Nothing that came from it may be left.
  ~HostLibrary();
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;

  const ElfFile& elf() const { return *elf_; }
  const std::filesystem::path& path() const { return file_->path(); }
  FileIdentity identity() const { return file_->identity(); }
  // Was the file open already, in this process?
  bool is_private_copy() const { return static_cast<bool>(copy_); }

  // The function that this library itself exports under that name, never one of a library that it needs; or NULL.
  void* function(std::string_view name) const;
  // The pointer variable that it exports under that name, if it may be written; or NULL.
  void** pointer_variable(std::string_view name) const;

  // True for the first who asks: the library has the variables for one module only.
  bool claim() { return !claimed_.exchange(true); }

 private:
  HostLibrary(std::shared_ptr<const MappedFile> file, std::shared_ptr<const ElfFile> elf)
      : file_(std::move(file)), elf_(std::move(elf)) {}
  Status open_file();
  void* address_of(const ElfSymbol& symbol) const;

  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<const ElfFile> elf_;
  PrivateCopy copy_;
  void* handle_ = nullptr;
  std::atomic<bool> claimed_{false};
};

}  // namespace gantry
