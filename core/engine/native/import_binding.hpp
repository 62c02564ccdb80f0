// SPDX-License-Identifier: Apache-2.0
//
// Binds the functions that an artifact's library imports from its runtime to this copy of gantry,
// whatever other libraries of the process define under these names.
// core/decisions/0005-binding-imports.md
//
//     each is called through a jump slot that   the library is opened lazily; then bind() writes
//     the linker fills at the first call        the addresses to the slots
//     otherwise                                 copied(): the symbol table of a copy of the file
//                                               contains the addresses
//
// A library that needs libtvm_ffi.so, whose functions are those of this runtime, is always a copy, which
// does not need it. So is a library with tvm-ffi's C++ headers, which there shares no variables of the
// headers with other libraries.
#pragma once

#include "core/engine/native/runtime_functions.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_symbol_uses.hpp"
#include "core/formats/exporter_facts.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

class ImportBinding {
 public:
  // Of a library that imports nothing from its runtime, and does not need libtvm_ffi.so.
  ImportBinding() = default;
  // elf      for this machine; check_link() accepts it
  // returns  unsupported  TVM_CPP      it requires TVM's C++ runtime
  //                       TVM_SYMBOLS  it requires TVM... names that gantry does not provide
  static Result<ImportBinding> of(const ElfFile& elf, const ExporterFacts& facts,
                                  std::string_view location);

  bool empty() const { return imports_.empty() && unneeded_.empty(); }
  // True if the library imports this name from its runtime.
  bool binds(std::string_view name) const;
  // True for a needed library whose functions are the runtime's: the copy does not need it.
  bool drops(std::string_view needed) const;
  // True if the linker must not resolve the imports when it opens the library.
  bool is_lazy() const { return !empty() && !is_early_; }
  // True if only a copy of the file can be opened.
  bool needs_copy() const { return is_early_; }

  // True for a library with tvm-ffi's C++ headers.
  bool is_of_headers() const { return is_of_headers_; }

  // For a process whose linker resolves all symbols when it opens a library, LD_BIND_NOW.
  void bind_early() { is_early_ = is_early_ || !empty(); }

  // Returns the file's bytes with the imports as absolute, hidden symbols.
  std::vector<std::uint8_t> copied(std::span<const std::uint8_t> file) const;
  // Writes the addresses to the slots of the opened library. Precondition: is_lazy().
  //
  // base     [in]   what the linker added to the file's addresses
  void bind(std::uintptr_t base) const;

 private:
  struct Import {
    const RuntimeFunction* function;
    // index in ElfFile::symbols()
    std::size_t symbol;
    // file offset of the symbol table entry
    std::uint64_t at;
  };
  const Import& import_of(std::size_t symbol) const;
  Status drop_needed(const ElfFile& elf, std::string_view location);
  void separate(const ElfFile& elf);

  // by symbol
  std::vector<Import> imports_;
  std::vector<JumpSlot> slots_;
  // file offsets of symbol table entries that become hidden, and of dynamic entries without a meaning
  std::vector<std::uint64_t> hidden_;
  std::vector<std::uint64_t> unneeded_;
  bool is_early_ = false;
  bool is_of_headers_ = false;
};

}  // namespace gantry
