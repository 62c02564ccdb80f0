// SPDX-License-Identifier: Apache-2.0
//
// A bounds-checked reader of 64-bit little-endian ELF files. It executes nothing and accepts any
// input.
//
// Shared libraries and programs are read by their program headers and dynamic segment, as the
// system's loader does. Their section headers may be missing. Relocatable objects have only
// sections and are read by these.
//
//     elf_types.hpp -> elf_image.hpp (headers, addresses to bytes)
//                   -> elf_symbols.hpp, elf_dynamic.hpp -> elf_file.hpp (symbols, dependencies)
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/formats/elf/elf_dynamic.hpp"
#include "core/formats/elf/elf_image.hpp"
#include "core/formats/elf/elf_types.hpp"

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
  // bytes    a whole file; borrowed: all returned views point into it
  // returns  unsupported  32-bit or big-endian; any machine is accepted
  //          malformed    not ELF, a table extends beyond the file, symbols cannot be counted, ...;
  //                       if the file is truncated, the text names the first truncated segment
  // costs    O(file size) time; memory at most a small multiple of the tables
  static Result<ElfFile> parse(std::span<const std::uint8_t> bytes);
  // The same; the result keeps the file mapped.
  static Result<ElfFile> parse(std::shared_ptr<const MappedFile> file);

  ElfType type() const { return image_.type(); }
  ElfMachine machine() const { return image_.machine(); }
  const ElfFlags& flags() const { return flags_; }
  // A program may have the type of a shared library.
  bool is_program() const {
    return type() == ElfType::executable || (type() == ElfType::shared && flags_.pie);
  }
  bool is_shared_library() const { return type() == ElfType::shared && !flags_.pie; }
  // memory size of PT_TLS, in bytes
  std::uint64_t tls_size() const { return tls_size_; }

  // PT_INTERP; empty if there is none
  std::string_view interpreter() const { return interpreter_; }
  std::string_view soname() const { return soname_; }
  std::string_view rpath() const { return rpath_; }
  std::string_view runpath() const { return runpath_; }
  const std::vector<std::string_view>& needed() const { return needed_; }
  const std::vector<ElfVersionNeed>& version_needs() const { return version_needs_; }
  const std::vector<ElfNote>& notes() const { return notes_; }

  // The dynamic symbols, or the symbol table of a relocatable object; without the null symbol.
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }
  // Returns the first defined symbol of that name, else the first undefined one, else NULL.
  //
  // costs    O(log symbols)
  const ElfSymbol* find(std::string_view name) const;

  // Checks that all segments and the section table are inside the file. The system's loader would
  // map a truncated file, and the process would die at the first access.
  //
  // returns  malformed, naming the first truncated part: "segment 2 ends at 0x3f10, file ends at
  //          0x2000"
  Status check_complete() const { return image_.check_complete(); }

  // Returns the `size` bytes of the symbol, from its segment or, in a relocatable object, its
  // section.
  Result<std::span<const std::uint8_t>> bytes_of(const ElfSymbol& symbol) const;
  // Returns the bytes from the symbol's address to the end of its segment or section.
  Result<std::span<const std::uint8_t>> bytes_from(const ElfSymbol& symbol) const;

  // File offset of a view that this object returned.
  std::uint64_t offset_in_file(std::span<const std::uint8_t> view) const {
    return static_cast<std::uint64_t>(view.data() - bytes().data());
  }

  const ElfImage& image() const { return image_; }
  // Empty if the file has no dynamic segment.
  const DynamicSegment& dynamic() const { return dynamic_; }
  std::span<const std::uint8_t> bytes() const { return image_.bytes(); }

 private:
  explicit ElfFile(ElfImage image) : image_(std::move(image)) {}
  Status read_segments();
  Status read_dynamic();
  Status read_object_symbols();
  void index_symbols();

  std::shared_ptr<const MappedFile> file_;
  ElfImage image_;
  DynamicSegment dynamic_;
  ElfFlags flags_;
  std::uint64_t tls_size_ = 0;
  std::string_view interpreter_, soname_, rpath_, runpath_;
  std::vector<std::string_view> needed_;
  std::vector<ElfVersionNeed> version_needs_;
  std::vector<ElfNote> notes_;
  std::vector<ElfSymbol> symbols_;
  // indices of symbols_ sorted by name, defined symbols first
  std::vector<std::uint32_t> by_name_;
};

// Returns the refusal of a file that is no shared library: "model.so is a program, expected a shared
// library".
std::string no_library_text(std::string_view name, const ElfFile& elf);

}  // namespace gantry
