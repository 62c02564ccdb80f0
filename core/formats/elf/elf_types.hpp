// SPDX-License-Identifier: Apache-2.0
//
// Parts of an ELF file as plain data. Every string_view and span points into the file's bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// True for bytes that begin with the magic number of ELF files.
constexpr bool has_elf_magic(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 4 && bytes[0] == 0x7f && bytes[1] == 'E' && bytes[2] == 'L' &&
         bytes[3] == 'F';
}

// Rounds up to a multiple of a power of two.
constexpr std::uint64_t align_up(std::uint64_t number, std::uint64_t alignment) {
  return (number + alignment - 1) & ~(alignment - 1);
}

enum class ElfType : std::uint16_t {
  none = 0,
  relocatable = 1,
  executable = 2,
  shared = 3,
  core = 4
};

// Values of e_machine that have a name here. Other values are valid and printed as a number.
enum class ElfMachine : std::uint16_t {
  i386 = 3,
  ppc64 = 21,
  s390 = 22,
  arm = 40,
  x86_64 = 62,
  hexagon = 164,
  aarch64 = 183,
  cuda = 190,
  amdgpu = 224,
  riscv = 243,
  loongarch = 258,
};

// "x86-64", "aarch64", ... or "machine 1234".
std::string name_of(ElfMachine machine);
// The machine that this program is compiled for.
ElfMachine host_machine();

enum class SymbolType : std::uint8_t {
  notype = 0,
  object = 1,
  function = 2,
  section = 3,
  file = 4,
  common = 5,
  tls = 6,
  ifunc = 10,
};
enum class SymbolBinding : std::uint8_t { local = 0, global = 1, weak = 2, unique = 10 };
enum class SymbolVisibility : std::uint8_t { normal = 0, internal = 1, hidden = 2, protect = 3 };

struct ElfSymbol {
  std::string_view name;
  // address; in a relocatable object: offset in its section
  std::uint64_t value = 0;
  // bytes; 0 if unknown
  std::uint64_t size = 0;
  // file offset of the symbol table entry
  std::uint64_t at = 0;
  SymbolType type = SymbolType::notype;
  SymbolBinding binding = SymbolBinding::local;
  SymbolVisibility visibility = SymbolVisibility::normal;
  // 0: undefined; 0xfff1: absolute; 0xfff2: common
  std::uint16_t section = 0;

  bool defined() const { return section != 0; }
  // True if dlsym() finds the symbol: it is defined, not local and not hidden.
  bool exported() const {
    return defined() && binding != SymbolBinding::local &&
           (visibility == SymbolVisibility::normal || visibility == SymbolVisibility::protect);
  }
};

// Values of p_type.
namespace segment_type {
constexpr std::uint32_t load = 1, dynamic = 2, interpreter = 3, note = 4, program_headers = 6,
                        tls = 7, gnu_stack = 0x6474e551, gnu_relro = 0x6474e552,
                        gnu_property = 0x6474e553;
}  // namespace segment_type

// Size of a program header, in bytes.
constexpr std::uint64_t program_header_bytes = 56;

struct ElfSegment {
  // segment_type
  std::uint32_t type = 0;
  // bit 0 execute, bit 1 write, bit 2 read
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0;
  std::uint64_t alignment = 0;
  // file offset of the program header
  std::uint64_t at = 0;

  // True if the range is inside the segment's part of memory.
  bool contains(std::uint64_t range, std::uint64_t size) const {
    if (range < address) return false;
    const std::uint64_t into = range - address;
    return into <= memory_size && size <= memory_size - into;
  }
  bool is_executable() const { return (flags & 1) != 0; }
  bool is_writable() const { return (flags & 2) != 0; }
};

struct ElfSection {
  // SHT_*
  std::uint32_t type = 0;
  // bit 0 write, bit 1 allocated, bit 2 execute
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  // file offset of the section header
  std::uint64_t at = 0;

  bool is_executable() const { return (flags & 4) != 0; }
};

// A required symbol version: version "GLIBC_2.34" of file "libc.so.6".
struct ElfVersionNeed {
  std::string_view file;
  std::string_view version;
  bool weak = false;
};

struct ElfNote {
  // without its terminator
  std::string_view owner;
  std::uint32_t type = 0;
  std::span<const std::uint8_t> content;
};

// Loader flags from the dynamic segment and the program headers.
struct ElfFlags {
  // DF_1_PIE: the file is a program although its type is `shared`
  bool pie = false;
  // DT_BIND_NOW, DF_BIND_NOW or DF_1_NOW
  bool bind_now = false;
  // DT_TEXTREL or DF_TEXTREL
  bool text_relocations = false;
  // DF_STATIC_TLS
  bool static_tls = false;
  // PT_GNU_RELRO
  bool relro = false;
  // PT_GNU_STACK is present
  bool stack_header = false;
  // PT_GNU_STACK is present and executable
  bool executable_stack = false;
};

}  // namespace gantry
