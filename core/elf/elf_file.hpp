// SPDX-License-Identifier: Apache-2.0
//
// A bounded reader of 64-bit little-endian ELF files. Executes nothing, trusts nothing.
//
// Shared libraries and programs are read by their program headers and dynamic segment, which is
// what the system's loader goes by; section headers are only a hint and may be missing. Relocatable
// objects have nothing but sections, so there they are read.
//
//     elf_types.hpp -> elf_image.hpp (headers, addresses to bytes)
//                   -> elf_symbols.hpp, elf_dynamic.hpp -> elf_file.hpp (symbols, needs)
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/elf/elf_image.hpp"
#include "core/elf/elf_types.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

class ElfFile {
 public:
  // Reads headers, dynamic segment, symbols and version needs.
  //
  // bytes    a whole file; borrowed: every view handed out points into it
  // returns  unsupported  32-bit or big-endian; any machine is welcome
  //          malformed    not ELF; a table that leaves the file, no way to count symbols, ...;
  //                       where the file is cut, the text names the first segment that is
  // costs    O(file size) time; memory at most a small multiple of the tables read
  static Result<ElfFile> parse(std::span<const std::uint8_t> bytes);
  // The same, and keeps the file mapped.
  static Result<ElfFile> parse(std::shared_ptr<const MappedFile> file);

  ElfType type() const { return image_.type(); }
  ElfMachine machine() const { return image_.machine(); }
  const ElfFlags& flags() const { return flags_; }
  // bytes, PT_TLS
  std::uint64_t tls_size() const { return tls_size_; }

  // PT_INTERP; empty: none
  std::string_view interpreter() const { return interpreter_; }
  std::string_view soname() const { return soname_; }
  std::string_view rpath() const { return rpath_; }
  std::string_view runpath() const { return runpath_; }
  const std::vector<std::string_view>& needed() const { return needed_; }
  const std::vector<ElfVersionNeed>& version_needs() const { return version_needs_; }
  const std::vector<ElfNote>& notes() const { return notes_; }

  // Dynamic symbols without the null symbol at index 0; of a relocatable object: its symbol table.
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }
  // The first defined symbol of that name, else the first undefined one, else null.
  // costs    O(log symbols)
  const ElfSymbol* find(std::string_view name) const;

  // Every segment and the section table lie inside the file; else malformed, naming the first that
  // does not: "segment 2 ends at 0x3f10, file ends at 0x2000". The system's loader would map such a
  // file and die on first touch.
  Status check_complete() const { return image_.check_complete(); }

  // The `size` bytes that the symbol names; in a relocatable object they come from its section.
  Result<std::span<const std::uint8_t>> bytes_of(const ElfSymbol& symbol) const;
  // From the symbol's first byte to the end of its segment or section.
  Result<std::span<const std::uint8_t>> bytes_from(const ElfSymbol& symbol) const;

  // Where a view that this object handed out begins in the file.
  std::uint64_t offset_in_file(std::span<const std::uint8_t> view) const {
    return static_cast<std::uint64_t>(view.data() - bytes().data());
  }

  const ElfImage& image() const { return image_; }
  std::span<const std::uint8_t> bytes() const { return image_.bytes(); }

 private:
  explicit ElfFile(ElfImage image) : image_(std::move(image)) {}
  Status read_segments();
  Status read_dynamic();
  Status read_object_symbols();
  void index_symbols();

  std::shared_ptr<const MappedFile> file_;
  ElfImage image_;
  ElfFlags flags_;
  std::uint64_t tls_size_ = 0;
  std::string_view interpreter_, soname_, rpath_, runpath_;
  std::vector<std::string_view> needed_;
  std::vector<ElfVersionNeed> version_needs_;
  std::vector<ElfNote> notes_;
  std::vector<ElfSymbol> symbols_;
  // indices of symbols_, by name, defined ones first
  std::vector<std::uint32_t> by_name_;
};

}  // namespace gantry
