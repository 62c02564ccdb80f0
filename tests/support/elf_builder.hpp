// SPDX-License-Identifier: Apache-2.0
//
// Builds small 64-bit little-endian ELF files without a compiler: shared libraries for any machine,
// with a dynamic segment.
//
//     const auto file = ElfBuilder().machine(183).object("__tvm_dev_mblob", blob).build();
//
// One segment contains everything; an address is base_address plus the file offset. Functions have
// a symbol but no code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

class ElfBuilder {
 public:
  // gnu_empty: the table that GNU ld writes if no symbol is hashed; it does not show the number of
  // undefined symbols
  enum class Hash { gnu, sysv, both, none, gnu_empty };
  static constexpr std::uint64_t base_address = 0x10000;

  // default: this machine
  ElfBuilder& machine(std::uint16_t number);
  // default: 3, shared
  ElfBuilder& type(std::uint16_t number);
  // default: gnu
  ElfBuilder& hash(Hash kind);
  // adds a section table: null, .dynsym, .dynstr
  ElfBuilder& sections();

  // Adds a data symbol. `size` may differ from the content's for invalid files.
  ElfBuilder& object(std::string_view name, std::span<const std::uint8_t> content);
  ElfBuilder& object(std::string_view name, std::span<const std::uint8_t> content,
                     std::uint64_t size);
  ElfBuilder& function(std::string_view name);
  ElfBuilder& undefined(std::string_view name);

  ElfBuilder& needed(std::string_view library);
  ElfBuilder& soname(std::string_view name);
  ElfBuilder& rpath(std::string_view path);
  ElfBuilder& runpath(std::string_view path);
  ElfBuilder& interpreter(std::string_view path);
  ElfBuilder& version_need(std::string_view library, std::vector<std::string> versions,
                           bool is_weak = false);
  ElfBuilder& note(std::string_view owner, std::uint32_t type,
                   std::span<const std::uint8_t> content);
  // adds an unchecked entry at the end of the dynamic segment
  ElfBuilder& dynamic(std::uint64_t tag, std::uint64_t value);
  ElfBuilder& executable_stack();
  // adds an empty PT_GNU_RELRO segment
  ElfBuilder& relro();
  ElfBuilder& tls(std::uint64_t size);
  // appends zeros to a file that is smaller
  ElfBuilder& at_least(std::uint64_t size);
  // the segment's memory exceeds its file part
  ElfBuilder& memory_behind(std::uint64_t size);

  std::vector<std::uint8_t> build() const;

 private:
  struct Symbol {
    std::string name;
    std::vector<std::uint8_t> content;
    std::uint64_t size = 0;
    // STT_*
    std::uint8_t type = 0;
    bool defined = false;
  };
  struct VersionNeed {
    std::string library;
    std::vector<std::string> versions;
    bool is_weak = false;
  };
  struct Note {
    std::string owner;
    std::uint32_t type;
    std::vector<std::uint8_t> content;
  };
  struct Entry {
    std::uint64_t tag, value;
  };

  std::uint16_t machine_;
  std::uint16_t type_ = 3;
  Hash hash_ = Hash::gnu;
  bool sections_ = false;
  bool executable_stack_ = false;
  bool relro_ = false;
  std::uint64_t tls_ = 0;
  std::uint64_t memory_behind_ = 0;
  std::uint64_t at_least_ = 0;
  std::string soname_, rpath_, runpath_, interpreter_;
  std::vector<std::string> needed_;
  std::vector<Symbol> symbols_;
  std::vector<VersionNeed> version_needs_;
  std::vector<Note> notes_;
  std::vector<Entry> dynamic_;

 public:
  ElfBuilder();
};

// A relocatable object for x86-64 with one symbol, whose `content` is at offset 8 of the only data
// section.
std::vector<std::uint8_t> relocatable_object(std::string_view symbol,
                                             std::span<const std::uint8_t> content);

}  // namespace gantry::test
