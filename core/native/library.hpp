// SPDX-License-Identifier: Apache-2.0
//
// The artifact's own shared library, opened. Its imports are checked first, because opening runs
// code.
//
//     map ─▶ read ELF ─▶ check ─▶ open libgantry_tvm.so if needed ─▶ dlopen the file or a copy
//
// The bytes that were checked are those that run: a file that was replaced in between is refused.
//
// Its variables (context pointers, module context, cached look-ups) serve one module graph, so each
// HostLibrary has a mapping of its own: where the process has the file open already, a copy is
// opened.
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
//          unsupported  FILE_KIND not a shared library; DIALECT_FFI; TVM_CPP, TVM_SYMBOLS its imports
//          unavailable  BLOB_ARCH another CPU
Result<std::vector<std::string_view>> check_host_code(const ElfFile& elf,
                                                      const ExporterFacts& facts,
                                                      std::string_view location);

class HostLibrary {
 public:
  // Opens a library. Its constructors run, and no other code of it.
  //
  // elf      [in]   of that file
  // facts    [in]   of that file
  // services [in]   its libgantry_tvm.so is opened where the file imports from it
  // returns  malformed    cut short
  //          unsupported  not a shared library; DIALECT_FFI; TVM_CPP; TVM_SYMBOLS
  //          unavailable  BLOB_ARCH another CPU; LIBRARY_NEEDED, LIBRARY_SYMBOLS what this host lacks,
  //                       by name; REPLACED_DURING_LOAD its path names another file now
  // thread   any; one at a time in the process while the system opens it
  static Result<std::shared_ptr<HostLibrary>> open(std::shared_ptr<const MappedFile> file,
                                                   std::shared_ptr<const ElfFile> elf,
                                                   const ExporterFacts& facts,
                                                   const HostServices& services);

  // Closes it. No function, tensor or module that came from it may exist any more.
  ~HostLibrary();
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;

  const ElfFile& elf() const { return *elf_; }
  const std::filesystem::path& path() const { return file_->path(); }
  FileIdentity identity() const { return file_->identity(); }
  // True where this process had the file open already.
  bool is_private_copy() const { return static_cast<bool>(copy_); }

  // The function that this library itself exports under that name, never one of a library that it
  // needs; or NULL.
  void* function(std::string_view name) const;
  // The pointer variable that it exports under that name, where it can be written; or NULL.
  void** pointer_variable(std::string_view name) const;

  // True for the first caller only: the library has the variables for one module.
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
