// SPDX-License-Identifier: Apache-2.0
//
// A library that a test damages field by field.
#pragma once

#include "core/formats/elf/elf_file.hpp"
#include "tests/support/elf_builder.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::test {

inline constexpr std::uint64_t header_bytes = 64, program_header_bytes = 56, relocation_bytes = 24;
// Program headers of a LinkedFile; the linker ignores the spare one.
enum Header : std::uint64_t { load, dynamic, spare, tls };
// Fields of a program header and of a relocation.
inline constexpr std::uint64_t type_at = 0, flags_at = 4, offset_at = 8, address_at = 16,
                               file_size_at = 32, memory_size_at = 40, alignment_at = 48;
inline constexpr std::uint64_t kind_at = 8, symbol_at = 12, addend_at = 16;
// Relocations of x86-64.
inline constexpr std::uint32_t absolute = 1, copy = 5, global_data = 6, jump_slot = 7, relative = 8,
                               half = 10, tls_offset = 18, tls_descriptor = 36, indirect = 37;

// A library with one segment, which contains every table that the linker reads.
class LinkedFile {
 public:
  LinkedFile() {
    const std::vector<std::uint8_t> zeros(1024);
    const auto room = [&](std::size_t size) { return std::span(zeros).first(size); };
    ElfBuilder builder;
    builder.machine(62).hash(ElfBuilder::Hash::both).needed("liba.so").tls(16);
    builder.version_need("liba.so", {"A_1"}).undefined("outside").function("code");
    builder.object("rela", room(5 * relocation_bytes)).object("plt", room(relocation_bytes));
    builder.object("relr", room(16)).object("preinit", room(8)).object("init", room(8));
    builder.object("fini", room(8)).object("data", room(80 * 8)).object("got", room(8));
    builder.object("versym", room(2 * 13)).object("verdef", room(28));
    for (const std::uint64_t tag :
         {7, 8, 9, 23, 2, 20, 36, 35, 37, 32, 33, 25, 27, 26, 28, 12, 13}) {
      builder.dynamic(tag, 0);
    }
    builder.dynamic(0x6ffffff0, 0).dynamic(0x6ffffffc, 0).dynamic(0x6ffffff9, 3);
    bytes = builder.build();
    put<std::uint32_t>(header(load) + flags_at, 7);

    set(7, address("rela"), 8, 5 * relocation_bytes);
    set(9, relocation_bytes, 20, 7);
    set(23, address("plt"), 2, relocation_bytes);
    set(36, address("relr"), 35, 16);
    set(37, 8, 0x6ffffff0, address("versym"));
    set(32, address("preinit"), 33, 8);
    set(25, address("init"), 27, 8);
    set(26, address("fini"), 28, 8);
    set(12, address("code"), 13, address("code"));
    put(value(0x6ffffffc), address("verdef"));

    relocate(at("rela"), address("preinit"), relative, 0, address("code"));
    relocate(rela(1), address("init"), relative, 0, address("code"));
    relocate(rela(2), address("fini"), relative, 0, address("code") + 4);
    relocate(rela(3), address("data"), absolute, 1, 0);
    relocate(rela(4), address("data") + 8, tls_offset, 0, 0);
    relocate(at("plt"), address("got"), jump_slot, 1, 0);
    put(at("relr"), address("data") + 16);
    // words 0 and 60 of the 63 after it
    put(at("relr") + 8, std::uint64_t{1} | 1 << 1 | std::uint64_t{1} << 61);
    for (std::uint64_t i = 1; i < 13; ++i) put<std::uint16_t>(at("versym") + 2 * i, 3);
    put<std::uint16_t>(at("verdef"), 1);
    put<std::uint16_t>(at("verdef") + 4, 3);
    put<std::uint32_t>(at("verdef") + 12, 20);
    put<std::uint32_t>(at("verdef") + 20, 1);
  }

  // Returns `where`.
  template <class T>
  std::uint64_t put(std::uint64_t where, T content) {
    std::memcpy(bytes.data() + where, &content, sizeof content);
    return where;
  }
  std::uint64_t header(Header index) const { return header_bytes + index * program_header_bytes; }
  // File offset of the value of a dynamic entry.
  std::uint64_t value(std::uint64_t tag) const {
    return ElfFile::parse(bytes).value().dynamic().find(tag)->at;
  }
  std::uint64_t address(std::string_view symbol) const {
    return ElfFile::parse(bytes).value().find(symbol)->value;
  }
  std::uint64_t at(std::string_view symbol) const {
    return address(symbol) - ElfBuilder::base_address;
  }
  std::uint64_t rela(std::uint64_t index) const { return at("rela") + index * relocation_bytes; }
  // File offset of a symbol's entry.
  std::uint64_t entry(std::string_view symbol) const {
    return ElfFile::parse(bytes).value().find(symbol)->at;
  }
  // File offset of the table to which a dynamic entry leads.
  std::uint64_t table(std::uint64_t tag) const {
    return ElfFile::parse(bytes).value().dynamic().value(tag) - ElfBuilder::base_address;
  }
  // Hides a dynamic entry; returns its value's offset.
  std::uint64_t hide(std::uint64_t tag) {
    const std::uint64_t where = value(tag);
    put<std::uint64_t>(where - 8, 0x70000000);
    return where;
  }
  std::uint64_t dynamic_at() const {
    std::uint64_t offset = 0;
    std::memcpy(&offset, bytes.data() + header(dynamic) + offset_at, sizeof offset);
    return offset;
  }
  // Makes the spare program header one of another type.
  void use_spare(std::uint32_t type, std::uint32_t flags, std::uint64_t address,
                 std::uint64_t size) {
    put(header(spare) + type_at, type);
    put(header(spare) + flags_at, flags);
    put(header(spare) + address_at, address);
    put(header(spare) + memory_size_at, size);
  }

  // Makes the file one for aarch64, with the same relocations.
  void make_aarch64() {
    put<std::uint16_t>(18, 183);
    for (std::uint64_t i = 0; i < 3; ++i) put<std::uint32_t>(rela(i) + kind_at, 1027);
    put<std::uint32_t>(rela(3) + kind_at, 257);
    put<std::uint32_t>(rela(4) + kind_at, 1030);
    put<std::uint32_t>(at("plt") + kind_at, 1026);
  }

  std::vector<std::uint8_t> bytes;

 private:
  void set(std::uint64_t tag, std::uint64_t content, std::uint64_t other_tag,
           std::uint64_t other_content) {
    put(value(tag), content);
    put(value(other_tag), other_content);
  }
  void relocate(std::uint64_t where, std::uint64_t target, std::uint32_t kind, std::uint32_t symbol,
                std::uint64_t addend) {
    put(where, target);
    put(where + kind_at, kind);
    put(where + symbol_at, symbol);
    put(where + addend_at, addend);
  }
};

}  // namespace gantry::test
