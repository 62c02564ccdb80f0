// SPDX-License-Identifier: Apache-2.0
//
// Damage to what the system's linker uses of a library. Each row changes one field of a valid file
// and states the complete text of the error, whose offset is the field unless the row says
// otherwise.
#include "core/formats/elf/elf_link.hpp"

#include "tests/unit/elf/linked_file.hpp"

#include <gtest/gtest.h>

namespace gantry::test {
namespace {

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
        Damage{"SlotWithAnAddend",
               [](File& f) { return f.put<U64>(f.at("plt") + addend_at, 0x1000); },
               "relocation R_X86_64_JUMP_SLOT of symbol \"outside\" has the addend 0x1000, "
               "expected 0"},
        Damage{"AddressWithAnAddend",
               [](File& f) {
                 f.put<U32>(f.rela(3) + kind_at, global_data);
                 return f.put<U64>(f.rela(3) + addend_at, 8);
               },
               "relocation R_X86_64_GLOB_DAT of symbol \"outside\" has the addend 0x8, expected 0"},
        Damage{"SlotWithAnAddendOnAarch64",
               [](File& f) {
                 f.make_aarch64();
                 return f.put<U64>(f.at("plt") + addend_at, 0x1000);
               },
               "relocation R_AARCH64_JUMP_SLOT of symbol \"outside\" has the addend 0x1000, "
               "expected 0"},
        Damage{"AddressWithAnAddendOnAarch64",
               [](File& f) {
                 f.make_aarch64();
                 f.put<U32>(f.rela(3) + kind_at, 1025);
                 return f.put<U64>(f.rela(3) + addend_at, 8);
               },
               "relocation R_AARCH64_GLOB_DAT of symbol \"outside\" has the addend 0x8, expected "
               "0"},
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

}  // namespace
}  // namespace gantry::test
