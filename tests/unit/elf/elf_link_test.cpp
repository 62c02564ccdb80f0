// SPDX-License-Identifier: Apache-2.0
//
// Damage to what the system's linker uses of a library. Each row changes one field of a valid file
// and states the complete text of the error, whose offset is the field unless the row says
// otherwise.
#include "core/elf/elf_link.hpp"

#include "core/elf/elf_memory.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace gantry {
namespace {

using test::ElfBuilder;

constexpr std::uint64_t header_bytes = 64, program_header_bytes = 56, relocation_bytes = 24;
// Program headers of the file below; the linker ignores the spare one.
enum Header : std::uint64_t { load, dynamic, spare, tls };
// Fields of a program header and of a relocation.
constexpr std::uint64_t type_at = 0, flags_at = 4, offset_at = 8, address_at = 16,
                        file_size_at = 32, memory_size_at = 40, alignment_at = 48;
constexpr std::uint64_t kind_at = 8, symbol_at = 12, addend_at = 16;
// Relocations of x86-64.
constexpr std::uint32_t absolute = 1, copy = 5, jump_slot = 7, relative = 8, tls_offset = 18,
                        half = 10, tls_descriptor = 36, indirect = 37;

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

void expect_accepted(const LinkedFile& file) {
  const Status checked = check_link(ElfFile::parse(file.bytes).value());

  EXPECT_TRUE(checked.ok()) << checked.error().message;
}

TEST(ElfLink, AcceptsTheFileOfTheseTests) { expect_accepted(LinkedFile()); }

struct Damage {
  std::string name;
  // returns the offset of the error
  std::uint64_t (*damage)(LinkedFile&);
  std::string message;
};

class DamagedLink : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedLink, IsRejected) {
  LinkedFile file;
  const std::uint64_t offset = GetParam().damage(file);
  const ElfFile elf = ElfFile::parse(file.bytes).value();

  const Status checked = check_link(elf);

  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::malformed);
  EXPECT_EQ(checked.error().reason, "ELF_DYNAMIC");
  EXPECT_EQ(checked.error().offset, offset);
  EXPECT_EQ(checked.error().message, GetParam().message);
}

using File = LinkedFile;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

INSTANTIATE_TEST_SUITE_P(
    Segments, DamagedLink,
    ::testing::Values(
        Damage{
            "AddressTooHigh",
            [](File& f) {
              f.use_spare(1, 4, U64{1} << 47, 8);
              return f.header(spare) + address_at;
            },
            "segment 2 of 8 bytes is at address 0x800000000000, limit of both is 0x800000000000"},
        Damage{"TooLarge",
               [](File& f) {
                 f.use_spare(1, 4, 0x100000, U64{1} << 47);
                 return f.header(spare) + memory_size_at;
               },
               "segment 2 of 140737488355328 bytes is at address 0x100000, limit of both is "
               "0x800000000000"},
        Damage{"Overlap",
               [](File& f) {
                 f.use_spare(1, 4, ElfBuilder::base_address, 8);
                 return f.header(spare) + address_at;
               },
               "segment 2 is at address 0x10000, the pages of the segment before end at 0x11000"},
        Damage{"NotAccessible",
               [](File& f) {
                 f.use_spare(1, 2, 0x100000, 8);
                 return f.header(spare) + flags_at;
               },
               "segment 2 is neither readable nor executable"},
        Damage{"CodeWithoutBytes",
               [](File& f) {
                 f.use_spare(1, 5, 0x100000, 8);
                 return f.header(spare) + file_size_at;
               },
               "segment 2 has code of 8 bytes, 0 bytes in the file"},
        Damage{"SameBytesAgain",
               [](File& f) {
                 f.use_spare(1, 4, 0x100000, 8);
                 f.put<U64>(f.header(spare) + file_size_at, 8);
                 return f.header(spare) + offset_at;
               },
               "segment 2 is at offset 0x0, the segment before ends at 0x8c0"},
        Damage{"ZerosBeyondTheFile",
               [](File& f) {
                 f.use_spare(1, 6, 0x100010, 8);
                 return f.put<U64>(f.header(spare) + offset_at, 0x100010);
               },
               "segment 2 shares the page at 0x100000 of the file, which ends at 0x8c0"},
        Damage{"SecondDynamicSegment",
               [](File& f) {
                 f.use_spare(2, 6, 0, 0);
                 return f.header(spare);
               },
               "file has two dynamic segments"},
        Damage{
            "DynamicSegmentNowhere",
            [](File& f) { return f.put<U64>(f.header(dynamic) + address_at, 0x100000); },
            "PT_DYNAMIC of 480 bytes is at address 0x100000, which is not inside a loaded segment"},
        Damage{"DynamicSegmentElsewhere",
               [](File& f) {
                 return f.put(f.header(dynamic) + address_at,
                              ElfBuilder::base_address + f.dynamic_at() - 16);
               },
               "PT_DYNAMIC is at offset 0x6e0, its address 0x106d0 leads to offset 0x6d0"},
        Damage{"DynamicSegmentWritable",
               [](File& f) {
                 f.put<U32>(f.header(load) + flags_at, 5);
                 return f.header(dynamic) + flags_at;
               },
               "PT_DYNAMIC is writable, the loaded segment that contains it is not"},
        Damage{"TlsLargerInTheFile",
               [](File& f) { return f.put<U64>(f.header(tls) + file_size_at, 17); },
               "PT_TLS has 17 bytes in the file, 16 in memory"},
        Damage{"TlsAlignment", [](File& f) { return f.put<U64>(f.header(tls) + alignment_at, 3); },
               "PT_TLS is aligned to 3, expected a power of two"},
        Damage{"TlsNowhere",
               [](File& f) {
                 f.put<U64>(f.header(tls) + file_size_at, 8);
                 return f.put<U64>(f.header(tls) + address_at, 0x100000);
               },
               "PT_TLS of 8 bytes is at address 0x100000, which is not inside a loaded segment"},
        Damage{"RelroTooLong",
               [](File& f) {
                 f.use_spare(0x6474e552, 4, ElfBuilder::base_address, 0x10000);
                 return f.header(spare) + address_at;
               },
               "PT_GNU_RELRO of 65536 bytes is at address 0x10000, which is not inside a loaded "
               "segment"},
        Damage{"RelroOfCode",
               [](File& f) {
                 f.use_spare(0x6474e552, 4, ElfBuilder::base_address, 8);
                 return f.header(spare) + address_at;
               },
               "PT_GNU_RELRO is at address 0x10000, in a segment that is not writable or is "
               "executable"},
        Damage{"ProgramHeadersNowhere",
               [](File& f) {
                 f.use_spare(6, 4, 0x100000, 8);
                 return f.header(spare) + address_at;
               },
               "PT_PHDR of 224 bytes is at address 0x100000, which is not inside a loaded segment"},
        Damage{"ProgramHeadersElsewhere",
               [](File& f) {
                 f.use_spare(6, 4, ElfBuilder::base_address, 8);
                 return f.header(spare) + address_at;
               },
               "PT_PHDR is at address 0x10000, which leads to offset 0x0, the program headers are "
               "at 0x40"},
        Damage{"NoteNowhere",
               [](File& f) {
                 f.use_spare(4, 4, 0x100000, 8);
                 return f.header(spare) + address_at;
               },
               "PT_NOTE of 8 bytes is at address 0x100000, which is not inside a loaded segment"},
        Damage{"PropertyNowhere",
               [](File& f) {
                 f.use_spare(0x6474e553, 4, 0x100000, 8);
                 return f.header(spare) + address_at;
               },
               "PT_GNU_PROPERTY of 8 bytes is at address 0x100000, which is not inside a loaded "
               "segment"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Dynamic, DamagedLink,
    ::testing::Values(
        Damage{"NoEnd",
               [](File& f) {
                 const U64 size = f.bytes.size() - f.dynamic_at() - 16;
                 f.put(f.header(dynamic) + file_size_at, size);
                 return f.dynamic_at();
               },
               "dynamic segment does not end with DT_NULL"},
        Damage{"NoSymbols",
               [](File& f) {
                 f.hide(6);
                 return f.dynamic_at();
               },
               "dynamic segment has no DT_SYMTAB"},
        Damage{"NoStrings",
               [](File& f) {
                 for (const U64 tag : {1, 6, 0x6ffffffe, 5}) f.hide(tag);
                 return f.dynamic_at();
               },
               "dynamic segment has no DT_STRTAB"},
        Damage{"NoStringSize",
               [](File& f) {
                 for (const U64 tag : {1, 6, 0x6ffffffe, 10}) f.hide(tag);
                 return f.dynamic_at();
               },
               "dynamic segment has no DT_STRSZ"},
        Damage{"StringsWithoutEnd",
               [](File& f) {
                 const U64 where = f.value(10);
                 U64 size = 0;
                 std::memcpy(&size, f.bytes.data() + where, sizeof size);
                 f.put<std::uint8_t>(f.table(5) + size, 'x');
                 return f.put(where, size + 1);
               },
               "string table of 82 bytes does not end with NUL"},
        Damage{"FilterOutside",
               [](File& f) {
                 const U64 where = f.hide(13);
                 f.put<U64>(where - 8, 0x7fffffff);
                 return f.put<U64>(where, 9999);
               },
               "filter is at offset 9999, string table has 81 bytes"},
        Damage{"HashBucket",
               [](File& f) {
                 f.put<U32>(f.table(4) + 8, 99);
                 return f.table(4);
               },
               "DT_HASH names symbol 99, symbol count is 13"},
        Damage{"HashChainLoops",
               [](File& f) {
                 f.put<U32>(f.table(4) + 8 + 4 + 4 * 5, 5);
                 return f.table(4);
               },
               "DT_HASH chain 0 does not end"},
        Damage{"InitNotCode", [](File& f) { return f.put<U64>(f.value(12), 0); },
               "DT_INIT is 0x0, which is not inside an executable segment"},
        Damage{"FiniNotCode", [](File& f) { return f.put<U64>(f.value(13), 0x100000); },
               "DT_FINI is 0x100000, which is not inside an executable segment"},
        Damage{"InitArraySize", [](File& f) { return f.put<U64>(f.value(27), 7); },
               "DT_INIT_ARRAYSZ is 7, expected a multiple of 8"},
        Damage{"InitArrayTooLong", [](File& f) { return f.put<U64>(f.value(27), 1 << 20); },
               "DT_INIT_ARRAYSZ is 1.0 MiB (1048576 bytes), room for 1768 bytes"},
        Damage{
            "InitArrayNowhere", [](File& f) { return f.put<U64>(f.value(25), 8); },
            "DT_INIT_ARRAY is 0x8, in none of the loaded segments, which span 0x10000 to 0x108c0"},
        Damage{"InitArrayWithoutSize",
               [](File& f) {
                 f.hide(27);
                 return f.value(25);
               },
               "DT_INIT_ARRAY has no DT_INIT_ARRAYSZ"},
        Damage{"FiniArrayWithoutAddress",
               [](File& f) {
                 f.hide(26);
                 return f.value(28);
               },
               "DT_FINI_ARRAYSZ has no DT_FINI_ARRAY"},
        Damage{"PreinitArraySize", [](File& f) { return f.put<U64>(f.value(33), 9); },
               "DT_PREINIT_ARRAYSZ is 9, expected a multiple of 8"},
        Damage{"PltTagWithoutTable",
               [](File& f) {
                 f.hide(23);
                 f.hide(2);
                 return f.value(20);
               },
               "DT_PLTREL has no DT_JMPREL"},
        Damage{"PltTagMissing",
               [](File& f) {
                 f.hide(20);
                 return f.value(23);
               },
               "DT_JMPREL has no DT_PLTREL"},
        Damage{"PltTag", [](File& f) { return f.put<U64>(f.value(20), 17); },
               "DT_PLTREL is 17, expected 7"},
        Damage{"PltSize", [](File& f) { return f.put<U64>(f.value(2), 25); },
               "DT_PLTRELSZ is 25, expected a multiple of 24"},
        Damage{"PltNowhere", [](File& f) { return f.put<U64>(f.value(23), 8); },
               "DT_JMPREL is 0x8, in none of the loaded segments, which span 0x10000 to 0x108c0"},
        Damage{"PltEndsWithRela",
               [](File& f) {
                 f.put(f.value(2), 6 * relocation_bytes);
                 f.put(f.value(7), f.address("plt"));
                 f.put(f.value(8), relocation_bytes);
                 return f.put(f.value(23), f.address("rela"));
               },
               "DT_JMPREL begins before DT_RELA and ends with it"},
        Damage{"RelaSize", [](File& f) { return f.put<U64>(f.value(8), 25); },
               "DT_RELASZ is 25, expected a multiple of 24"},
        Damage{"RelaTooLong", [](File& f) { return f.put<U64>(f.value(8), 24 << 20); },
               "DT_RELASZ is 24.0 MiB (25165824 bytes), room for 1936 bytes"},
        Damage{"RelaEntrySize", [](File& f) { return f.put<U64>(f.value(9), 16); },
               "DT_RELAENT is 16, expected 24"},
        Damage{"RelaEntrySizeMissing",
               [](File& f) {
                 f.hide(9);
                 return f.value(7);
               },
               "DT_RELA has no DT_RELAENT"},
        Damage{"RelaMissing",
               [](File& f) {
                 f.hide(7);
                 return f.value(8);
               },
               "DT_RELASZ has no DT_RELA"},
        Damage{"RelrSize", [](File& f) { return f.put<U64>(f.value(35), 15); },
               "DT_RELRSZ is 15, expected a multiple of 8"},
        Damage{"RelrEntrySize", [](File& f) { return f.put<U64>(f.value(37), 16); },
               "DT_RELRENT is 16, expected 8"},
        Damage{"RelativeCount", [](File& f) { return f.put<U64>(f.value(0x6ffffff9), 6); },
               "DT_RELACOUNT is 6, DT_RELA has 5 relocations"},
        Damage{"RelocationsWithoutAddend",
               [](File& f) {
                 const U64 where = f.hide(13);
                 f.put<U64>(where - 8, 17);
                 return where;
               },
               "file has DT_REL, this machine uses DT_RELA"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Relocations, DamagedLink,
    ::testing::Values(
        Damage{"Symbol", [](File& f) { return f.put<U32>(f.rela(3) + symbol_at, 13); },
               "relocation names symbol 13, symbol count is 13"},
        Damage{"FirstNotRelative",
               [](File& f) { return f.put<U32>(f.rela(2) + kind_at, absolute); },
               "relocation 2 is of type 1, the first 3 are relative by DT_RELACOUNT"},
        Damage{"NoType", [](File& f) { return f.put<U32>(f.rela(3) + kind_at, 0); },
               "relocation for address 0x101e8 has no type"},
        Damage{
            "TargetNowhere", [](File& f) { return f.put<U64>(f.rela(3), 0x100000); },
            "relocation writes 8 bytes to address 0x100000, which is not inside a loaded segment"},
        Damage{
            "TargetOnTheEnd",
            [](File& f) {
              return f.put<U64>(f.rela(3), ElfBuilder::base_address + f.bytes.size() - 7);
            },
            "relocation writes 8 bytes to address 0x108b9, which is not inside a loaded segment"},
        Damage{
            "TargetOfADescriptorOnTheEnd",
            [](File& f) {
              f.put<U32>(f.rela(4) + kind_at, tls_descriptor);
              return f.put<U64>(f.rela(4), ElfBuilder::base_address + f.bytes.size() - 8);
            },
            "relocation writes 16 bytes to address 0x108b8, which is not inside a loaded segment"},
        Damage{"TargetInTheDynamicSegment",
               [](File& f) {
                 return f.put<U64>(f.rela(3), ElfBuilder::base_address + f.dynamic_at() - 7);
               },
               "relocation writes 8 bytes to address 0x106d9, in the dynamic segment"},
        Damage{"TargetNotWritable",
               [](File& f) {
                 f.put<U32>(f.header(load) + flags_at, 5);
                 f.put<U32>(f.header(dynamic) + flags_at, 4);
                 return f.at("relr");
               },
               "relocation writes 8 bytes to address 0x101f8, in a segment that is not writable; "
               "file has no DT_TEXTREL"},
        Damage{"Copy", [](File& f) { return f.put<U32>(f.rela(3) + kind_at, copy); },
               "relocation is a copy relocation, which is for programs only"},
        Damage{"IndirectNotCode",
               [](File& f) {
                 f.put<U32>(f.rela(3) + kind_at, indirect);
                 return f.put<U64>(f.rela(3) + addend_at, 8);
               },
               "relocation calls a function at 0x8, which is not inside an executable segment"},
        Damage{"SlotWithoutSymbol", [](File& f) { return f.put<U32>(f.at("plt") + symbol_at, 0); },
               "relocation of type 7 names no symbol"},
        Damage{"SlotNotAligned",
               [](File& f) { return f.put<U64>(f.at("plt"), f.address("got") - 4); },
               "relocation of type 7 writes to address 0x10464, expected a multiple of 8"},
        Damage{"TlsOfAnotherSymbol", [](File& f) { return f.put<U32>(f.rela(4) + symbol_at, 2); },
               "relocation for thread-local storage names symbol 2, which is not thread-local"},
        Damage{"TlsWithoutSegment",
               [](File& f) {
                 f.put<U32>(f.header(tls), 0x70000000);
                 return f.rela(4) + kind_at;
               },
               "relocation is for thread-local storage of the file, which has no PT_TLS"},
        Damage{"PackedBeginsWithABitmap", [](File& f) { return f.put<U64>(f.at("relr"), 3); },
               "DT_RELR begins with the bitmap 0x3"},
        Damage{
            "PackedTarget", [](File& f) { return f.put<U64>(f.at("relr"), 0x100000); },
            "relocation writes 8 bytes to address 0x100000, which is not inside a loaded segment"},
        Damage{"PackedBitmapTarget",
               [](File& f) {
                 f.put(f.at("relr"), (ElfBuilder::base_address + f.dynamic_at() - 16) & ~U64{7});
                 return f.at("relr") + 8;
               },
               "relocation writes 8 bytes to address 0x108b8, in the dynamic segment"},
        Damage{"FunctionNotCode",
               [](File& f) {
                 f.put<U64>(f.rela(1) + addend_at, 0x100000);
                 return f.rela(1);
               },
               "relocation writes 0x100000 to entry 0 of DT_INIT_ARRAY, which is not inside an "
               "executable segment"},
        Damage{"FunctionNotRelocated",
               [](File& f) {
                 f.put(f.rela(1), f.address("data") + 32);
                 return f.at("init");
               },
               "entry 0 of DT_INIT_ARRAY is 0x0, no relocation makes it the address of a function"},
        Damage{"FunctionHalfRelocated",
               [](File& f) { return f.put(f.rela(3), f.address("init") + 4); },
               "relocation writes to address 0x101dc, which is not an entry of DT_INIT_ARRAY at "
               "0x101d8"},
        Damage{"FunctionOfAnotherType",
               [](File& f) { return f.put(f.at("plt"), f.address("fini")); },
               "relocation writes 8 bytes to address 0x101e0 in DT_FINI_ARRAY, which are not the "
               "address of a function"},
        Damage{"FunctionOfASymbolThatIsData",
               [](File& f) {
                 f.put<U64>(f.entry("data") + 8, ElfBuilder::base_address);
                 f.put<U64>(f.rela(3) + addend_at, 0x100000);
                 f.put<U32>(f.rela(3) + symbol_at, 9);
                 return f.put(f.rela(3), f.address("init"));
               },
               "relocation writes 0x110000 to entry 0 of DT_INIT_ARRAY, which is not inside an "
               "executable segment"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    SymbolsAndVersions, DamagedLink,
    ::testing::Values(
        Damage{"UndefinedAndHidden",
               [](File& f) {
                 f.put<std::uint8_t>(f.entry("outside") + 5, 2);
                 return f.entry("outside");
               },
               "undefined symbol \"outside\" is local, is not visible or has a value"},
        Damage{"UndefinedAndLocal",
               [](File& f) {
                 f.put<std::uint8_t>(f.entry("outside") + 4, 0);
                 return f.entry("outside");
               },
               "undefined symbol \"outside\" is local, is not visible or has a value"},
        Damage{"UndefinedWithAValue",
               [](File& f) {
                 f.put<U64>(f.entry("outside") + 8, 16);
                 return f.entry("outside");
               },
               "undefined symbol \"outside\" is local, is not visible or has a value"},
        Damage{"FunctionNotCode",
               [](File& f) {
                 f.put<U64>(f.entry("code") + 8, 16);
                 return f.entry("code");
               },
               "function \"code\" is at 0x10, which is not inside an executable segment"},
        Damage{"IndirectFunctionNotCode",
               [](File& f) {
                 f.put<std::uint8_t>(f.entry("code") + 4, 0x1a);
                 f.put<U64>(f.entry("code") + 8, 16);
                 return f.entry("code");
               },
               "function \"code\" is at 0x10, which is not inside an executable segment"},
        Damage{
            "VariableNowhere",
            [](File& f) {
              f.put<U64>(f.entry("got") + 16, 0x10000);
              return f.entry("got");
            },
            "variable \"got\" of 65536 bytes is at 0x10468, which is not inside a loaded segment"},
        Damage{"NoVersionIndices",
               [](File& f) {
                 f.hide(0x6ffffff0);
                 return f.value(0x6ffffffe);
               },
               "file has DT_VERNEED and no DT_VERSYM"},
        Damage{"NoVersionIndicesForDefinitions",
               [](File& f) {
                 f.hide(0x6ffffff0);
                 f.hide(0x6ffffffe);
                 return f.value(0x6ffffffc);
               },
               "file has DT_VERDEF and no DT_VERSYM"},
        Damage{"VersionIndex", [](File& f) { return f.put<U16>(f.at("versym") + 4, 4); },
               "symbol 2 has version 4, the highest is 3"},
        Damage{"VersionIndicesWithoutRoom",
               [](File& f) {
                 const U64 last = f.bytes.size() - 8;
                 f.put(f.value(0x6ffffff0), ElfBuilder::base_address + last);
                 return last;
               },
               "DT_VERSYM has room for 4 indices, symbol count is 13"},
        Damage{"VersionsOfAnUnneededLibrary",
               [](File& f) {
                 f.put<U32>(f.table(0x6ffffffe) + 4, 1);
                 return f.table(0x6ffffffe);
               },
               "DT_VERNEED requires versions of \"outside\", which is not a needed library"},
        Damage{"NeedChainBackward",
               [](File& f) {
                 f.put<U32>(f.table(0x6ffffffe) + 12, 8);
                 return f.table(0x6ffffffe);
               },
               "DT_VERNEED has a record of 16 bytes, the next one is 8 bytes later"},
        Damage{"NeedFar",
               [](File& f) {
                 f.put<U32>(f.table(0x6ffffffe) + 12, 1 << 20);
                 return f.table(0x6ffffffe);
               },
               "DT_VERNEED has a record at offset 1048576, beyond the 600 bytes to the end of its "
               "segment"},
        Damage{"NeededVersionChainBackward",
               [](File& f) {
                 f.put<U32>(f.table(0x6ffffffe) + 16 + 12, 4);
                 return f.table(0x6ffffffe) + 16;
               },
               "DT_VERNEED has a record of 16 bytes, the next one is 4 bytes later"},
        Damage{"DefinitionsNowhere", [](File& f) { return f.put<U64>(f.value(0x6ffffffc), 8); },
               "DT_VERDEF is 0x8, in none of the loaded segments, which span 0x10000 to 0x108c0"},
        Damage{"DefinitionFar",
               [](File& f) {
                 f.put<U32>(f.at("verdef") + 16, 1 << 20);
                 return f.at("verdef");
               },
               "DT_VERDEF has a record at offset 1048576, beyond the 1078 bytes to the end of its "
               "segment"},
        Damage{"DefinitionNameFar",
               [](File& f) {
                 f.put<U32>(f.at("verdef") + 12, 1 << 20);
                 return f.at("verdef");
               },
               "DT_VERDEF has a record at offset 1048576, beyond the 1078 bytes to the end of its "
               "segment"},
        Damage{"DefinitionNameOutside",
               [](File& f) {
                 f.put<U32>(f.at("verdef") + 20, 9999);
                 return f.table(5);
               },
               "version name is at offset 9999, string table has 81 bytes"}),
    [](const auto& test) { return test.param.name; });

TEST(ElfLink, RejectsMoreProgramHeadersThanTheLimit) {
  std::vector<std::uint8_t> bytes = LinkedFile().bytes;
  const std::size_t table = bytes.size();
  for (std::size_t i = 0; i <= ElfMemory::max_segments; ++i) {
    const auto header = bytes.begin() + 64 + 56 * static_cast<std::ptrdiff_t>(std::min(i, 3ul));
    const std::vector<std::uint8_t> copy(header, header + 56);
    bytes.insert(bytes.end(), copy.begin(), copy.end());
  }
  std::memcpy(bytes.data() + 0x20, &table, 8);
  const std::uint16_t count = ElfMemory::max_segments + 1;
  std::memcpy(bytes.data() + 0x38, &count, 2);

  const Status checked = check_link(ElfFile::parse(bytes).value());

  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().offset, 0x38u);
  EXPECT_EQ(checked.error().message, "file has 129 program headers, limit is 128");
}

TEST(ElfLink, AcceptsTextRelocations) {
  LinkedFile file;
  file.put<U32>(file.header(load) + flags_at, 5);
  file.put<U32>(file.header(dynamic) + flags_at, 4);
  file.put<U64>(file.hide(13) - 8, 22);

  expect_accepted(file);
}

TEST(ElfLink, AcceptsARelocationOfFourBytesBeforeTheDynamicSegment) {
  LinkedFile file;
  file.put<U32>(file.rela(3) + kind_at, half);
  file.put<U64>(file.rela(3), ElfBuilder::base_address + file.dynamic_at() - 4);

  expect_accepted(file);
}

TEST(ElfLink, AcceptsThreadLocalSymbolsOfAnotherLibrary) {
  LinkedFile file;
  file.put<U32>(file.header(tls), 0x70000000);
  file.put<std::uint8_t>(file.entry("outside") + 4, 0x16);
  file.put<U32>(file.rela(4) + symbol_at, 1);

  expect_accepted(file);
}

TEST(ElfLink, AcceptsFunctionsThatOtherLibrariesDefine) {
  LinkedFile file;
  file.put<U64>(file.rela(3), file.address("init"));

  expect_accepted(file);
}

TEST(ElfLink, AcceptsFunctionsThatAreFoundByACall) {
  LinkedFile file;
  file.put<U32>(file.rela(3) + kind_at, indirect);
  file.put<U32>(file.rela(3) + symbol_at, 0);
  file.put(file.rela(3) + addend_at, file.address("code"));
  file.put<U64>(file.rela(3), file.address("init"));

  expect_accepted(file);
}

TEST(ElfLink, AcceptsFunctionsWithPackedRelocations) {
  LinkedFile file;
  file.put<U64>(file.rela(1), file.address("data"));
  file.put(file.at("init"), file.address("code"));
  // of the next word, by the bitmap
  file.put(file.at("fini"), file.address("code"));
  file.put(file.at("relr"), file.address("init"));

  expect_accepted(file);
}

// As prelink writes it.
TEST(ElfLink, AcceptsAnAddressOfCodeInALibraryWithAFixedAddress) {
  LinkedFile file;
  file.put<U64>(file.rela(1), file.address("data"));
  file.put(file.at("init"), file.address("code"));

  expect_accepted(file);
}

TEST(ElfLink, RejectsAnAddressOfCodeInALibraryWithoutAFixedAddress) {
  auto bytes = test::read_file(test::golden("tvm-0.12/axpy2_c.so"));
  const ElfFile original = ElfFile::parse(bytes).value();
  const ElfImage& image = original.image();
  const auto place = [&](std::uint64_t tag) {
    return image.offset_in_file(*bytes_behind(image, *original.dynamic().find(tag), ""));
  };
  // the first relocation is for the first entry; the third one writes elsewhere
  const std::uint64_t entry = place(dynamic_tag::init_array);
  const std::uint64_t rela = place(dynamic_tag::relocations);
  std::memcpy(bytes.data() + entry, bytes.data() + rela + addend_at, 8);
  std::memcpy(bytes.data() + rela, bytes.data() + rela + 2 * relocation_bytes, 8);

  const Status checked = check_link(ElfFile::parse(bytes).value());

  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().offset, entry);
}

// ---- what compilers and linkers write ----------------------------------------------------------

// With and without section headers, as stripped libraries are.
void expect_linkable(const std::filesystem::path& path) {
  auto bytes = test::read_file(path);
  for (const bool has_sections : {true, false}) {
    if (!has_sections) {
      // e_shoff and e_shnum
      std::memset(bytes.data() + 0x28, 0, 8);
      std::memset(bytes.data() + 0x3c, 0, 2);
    }
    const auto elf = ElfFile::parse(bytes);
    ASSERT_TRUE(elf.ok()) << path << elf.error().message;
    const Status checked = check_link(*elf);
    EXPECT_TRUE(checked.ok()) << path << checked.error().message;
  }
}

std::vector<std::filesystem::path> libraries_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> libraries;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".so") libraries.push_back(entry.path());
  }
  return libraries;
}

TEST(ElfLink, AcceptsEveryGoldenArtifact) {
  const auto libraries = libraries_in(test::golden(""));

  EXPECT_GE(libraries.size(), 28u);
  for (const auto& path : libraries) expect_linkable(path);
}

// unit/elf/fixtures/linked.c
TEST(ElfLink, AcceptsWhatLinkersWrite) {
  const auto libraries = libraries_in(test::build_tree() / "tests" / "linked");

  EXPECT_GE(libraries.size(), 10u);
  for (const auto& path : libraries) {
    expect_linkable(path);
    void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const std::string message = opened ? "" : dlerror();
    // ld.lld 14 does not write what glibc requires for DT_RELR.
    EXPECT_TRUE(opened || message.find("GLIBC_ABI_DT_RELR") != std::string::npos) << message;
    if (opened) dlclose(opened);
  }
}

}  // namespace
}  // namespace gantry
