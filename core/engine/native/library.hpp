// SPDX-License-Identifier: Apache-2.0
//
// The opened shared library of an artifact. Its imports are checked first, because opening a
// library runs its code.
//
//     map ─▶ read ELF ─▶ check ─▶ dlopen the file or a copy ─▶ bind the imports
//
// The file that was checked is the file that runs: the linker opens its descriptor, not its path. A
// library whose own search path contains $ORIGIN is opened by its path, because the linker derives
// $ORIGIN from it, and so is every library without /proc; if that opens another file, it is closed
// and rejected. The code of a library with $ORIGIN includes files of its directory that nobody has
// checked.
//
// The library's variables (context pointers, module context, cached look-ups) belong to one module
// graph, so each CpuLibrary has its own mapping: if the process already has the file open, a copy
// is opened.
#pragma once

#include "core/base/owned_range.hpp"
#include "core/engine/native/context.hpp"
#include "core/engine/native/cpu_code.hpp"
#include "core/engine/native/import_binding.hpp"
#include "core/engine/native/linker_file.hpp"
#include "core/engine/native/operator_calls.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/exporter_facts.hpp"

#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Checks from its bytes whether this host can run a library.
//
// facts    [in]   of the file
// location [in]   for messages: the file
// returns  what it imports from its runtime
//          malformed    the file is truncated; ELF_DYNAMIC: the linker would crash
//          unsupported  FILE_KIND not a shared library; TVM_CPP, TVM_SYMBOLS
//          unavailable  BLOB_ARCH another CPU, or a level of x86-64 that this one lacks; PAGE_SIZE
//                       larger pages than those of the file
Result<ImportBinding> check_cpu_code(const ElfFile& elf, const ExporterFacts& facts,
                                     std::string_view location);

// Checks that a file is for this machine: of an object, which is linked before it is opened, nothing else is checked.
//
// returns  unavailable, reason BLOB_ARCH
Status check_machine(const ElfFile& elf, std::string_view location);

// Checks that the system's linker leaves the stacks of the process as they are when it opens a
// library.
//
// elf      for this machine
// returns  unsupported, reason EXEC_STACK
Status check_stack(const ElfFile& elf, std::string_view location);

class CpuLibrary final : public CpuCode {
 public:
  // Opens a library. Only its constructors run; what they change of a ProcessState is restored and
  // logged.
  //
  // elf      [in]   of that file
  // facts    [in]   of that file
  // container [in]  of that file's bytes, which the runtime reads from there: a copy for the linker
  //                 is without it
  // services [in]   its log, and how the linker binds
  // returns  the failures of check_cpu_code(), and
  //          unavailable  LIBRARY_NEEDED, LIBRARY_SYMBOLS with the names that this host lacks;
  //                       LIBRARY_OPEN; REPLACED_DURING_LOAD, only with $ORIGIN in its search path
  //                       or without /proc: the path now names another file
  //          exhausted    no descriptor or memory is left
  // thread   any; calls in one process are serialized while the system opens the file
  static Result<std::shared_ptr<CpuLibrary>> open(std::shared_ptr<const MappedFile> file,
                                                  std::shared_ptr<const ElfFile> elf,
                                                  const ExporterFacts& facts,
                                                  const HostServices& services,
                                                  std::span<const std::uint8_t> container = {});

  // Closes the library, unless it stays. Precondition: no function, tensor or module of the library
  // exists.
  ~CpuLibrary() override;

  const ElfFile& elf() const { return *elf_; }
  std::string name() const override { return path().native(); }
  const std::filesystem::path& path() const { return file_->path(); }
  FileIdentity identity() const { return file_->identity(); }
  // True if this process already had the file open, its imports are bound in a copy, or the file is
  // a part of another one.
  bool is_private_copy() const { return opened_.is_copy(); }

  // Returns the function that this library itself exports under that name, or NULL. Functions of
  // its dependencies are not found.
  void* function(std::string_view name) const override;
  // Returns the writable pointer variable that it exports under that name, or NULL.
  void** pointer_variable(std::string_view name) const override;
  // In the order of its symbol table.
  std::vector<std::string> function_names() const override;
  // In files from LLVM `__tvm_main__` is a text that contains the name, in files from C it is the
  // function itself.
  //
  // returns  malformed: the text does not end, or names no function
  Result<std::string_view> entry_name() const override;
  bool is_of_headers() const override { return is_of_headers_; }
  // Those of operators, by OperatorCalls.
  Status record_calls(TraceRecorder& recorder) override;

 private:
  CpuLibrary(std::shared_ptr<const MappedFile> file, std::shared_ptr<const ElfFile> elf,
             const ExporterFacts& facts)
      : CpuCode(facts),
        file_(std::move(file)),
        elf_(std::move(elf)),
        title_(quoted(file_->path().filename().native())) {}
  Status open_file(const ImportBinding& binding, std::span<const std::uint8_t> container);
  // Opens by the file's own path.
  Status open_path(const ImportBinding& binding);
  // Opens by the descriptor.
  Status open_descriptor(const ImportBinding& binding);
  // text     [in]   of dlerror()
  Failure open_failure(const ImportBinding& binding, std::string_view text) const;
  void* address_of(const ElfSymbol& symbol) const;

  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<const ElfFile> elf_;
  LinkerFile opened_;
  // Ends after the library is closed.
  OperatorCalls operators_;
  void* handle_ = nullptr;
  bool is_of_headers_ = false;
  // The title of code_: "model.so".
  const std::string title_;
  // Ends before the library is closed.
  std::optional<OwnedRange> code_;
  // The path that debuggers and dladdr() show, and the linker's own, which it frees.
  std::string shown_path_;
  char* linker_path_ = nullptr;
};

// Returns the names of the functions that an artifact's library exports, in the order of its symbol
// table.
std::vector<std::string> exported_functions(const ElfFile& elf, const ExporterFacts& facts);

}  // namespace gantry
