// SPDX-License-Identifier: Apache-2.0
#include "core/writing/appended_container.hpp"
#include "core/base/toolchain/link.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_link.hpp"
#include "core/writing/free_program_header.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/linker_pages.hpp"
#include "tests/unit/writing/appended.hpp"

#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

namespace gantry {
namespace {

using test::Appended;
using test::blob_source;
using test::ElfBuilder;
using test::new_container;
using test::small_library;
using test::text_at;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::uint32_t> types_of(const ElfFile& elf) {
  std::vector<std::uint32_t> types;
  for (const ElfSegment& segment : elf.image().segments()) types.push_back(segment.type);
  return types;
}

TEST_F(Appended, ContainerIsASegmentBehindTheOthers) {
  const auto result = append(link(blob_source));

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile elf = ElfFile::parse(*result).value();
  EXPECT_EQ(text_at(elf, "blob"), new_container);
  EXPECT_TRUE(check_link(elf).ok());
  const auto& segments = elf.image().segments();
  std::size_t last = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].type == PT_LOAD) last = i;
  }
  EXPECT_EQ(segments[last].flags, std::uint32_t{PF_R});
  EXPECT_EQ(segments[last].offset % 4096, 0u);
  EXPECT_EQ(segments[last].address, elf.find("blob")->value);
  EXPECT_EQ(segments[last].file_size, new_container.size());
  EXPECT_EQ(segments[last - 1].type, std::uint32_t{PT_LOAD});
}

// Linkers that align segments to 2 MiB do not make the file that much larger.
TEST_F(Appended, ContainerFollowsTheAlignmentOfTheOtherSegments) {
  const std::string path = link(blob_source, {"-Wl,-z,max-page-size=0x200000"});

  const auto result = append(path);

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile elf = ElfFile::parse(*result).value();
  EXPECT_EQ(text_at(elf, "blob"), new_container);
  EXPECT_TRUE(check_link(elf).ok());
  constexpr std::size_t section_headers_at_most = 4096;
  EXPECT_LT(result->size(), test::read_file(path).size() + test::linker_page_bytes() +
                                new_container.size() + section_headers_at_most);
}

TEST_F(Appended, ContainerIsReplacedByTheNextOne) {
  const auto once = append(link(blob_source));
  ASSERT_TRUE(once.ok());

  const auto longer = append(file(*once), std::string(10'000, 'x'));
  ASSERT_TRUE(longer.ok()) << longer.error().message;
  EXPECT_EQ(text_at(ElfFile::parse(*longer).value(), "blob"), std::string(10'000, 'x'));
  const auto again = append(file(*longer));

  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, *once);
}

TEST_F(Appended, ContainerReplacesOnlyThatOfItsPrefix) {
  const auto bytes = std::vector<std::uint8_t>(16, 'o');
  const std::string path = file(ElfBuilder()
                                    .hash(ElfBuilder::Hash::both)
                                    .object("a___tvm_dev_mblob", bytes)
                                    .object("b___tvm_dev_mblob", bytes)
                                    .note("GNU", 3, {})
                                    .build());

  const auto result = append(path, new_container, "b___tvm_dev_mblob");

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile elf = ElfFile::parse(*result).value();
  EXPECT_EQ(text_at(elf, "a___tvm_dev_mblob"), std::string(16, 'o'));
  EXPECT_EQ(text_at(elf, "b___tvm_dev_mblob"), new_container);
}

// The last segment is replaced only if it contains nothing but the symbol.
TEST_F(Appended, ContainerWithFurtherBytesBehindItIsKept) {
  auto once = append(link(blob_source)).value();
  once.resize(once.size() + 1);

  const Error error = refuse(file(once));

  EXPECT_EQ(error.reason, "ELF_NO_HEADER");
}

// The section begins behind the container; the sum of its offset and size is 8.
TEST_F(Appended, ContainerBeforeASectionWhoseEndWrapsIsKept) {
  auto once = append(file(small_library().note("GNU", 3, {}).sections().build())).value();
  const std::uint64_t section = ElfFile::parse(once)->image().sections()[2].at;
  const std::uint64_t place[] = {std::uint64_t{0} - 8, 16};
  std::memcpy(once.data() + section + 24, place, sizeof place);

  const Error error = refuse(file(once));

  EXPECT_EQ(error.reason, "ELF_NO_HEADER");
}

TEST_F(Appended, LibraryForAarch64HasPagesOf64KiB) {
  const auto result = append(file(small_library().machine(183).note("GNU", 3, {}).build()));

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile elf = ElfFile::parse(*result).value();
  const ElfSegment& segment = elf.image().segments()[1];
  EXPECT_EQ(segment.type, std::uint32_t{PT_LOAD});
  EXPECT_EQ(segment.offset % 0x10000, 0u);
  EXPECT_EQ(segment.address % 0x10000, 0u);
  EXPECT_EQ(segment.alignment, 0x10000u);
  EXPECT_EQ(text_at(elf, "blob"), new_container);
}

TEST_F(Appended, LibraryWithoutAFreeProgramHeaderIsRefused) {
  const Error error = refuse(file(small_library().build()));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "ELF_NO_HEADER");
  EXPECT_EQ(error.message,
            "library has no free program header for the container; it has PT_LOAD, PT_DYNAMIC, "
            "PT_GNU_STACK; link it again with -Wl,--build-id, which adds one");
}

// Which header is dropped: each case makes one more droppable than the case after it.
struct Droppable {
  std::string name;
  // types in place of the note's, and of PT_GNU_RELRO's
  std::uint32_t note, relro;
  std::string owner;
  std::uint32_t note_type;
  std::vector<std::uint32_t> left;
};
class DroppedHeader : public Appended, public ::testing::WithParamInterface<Droppable> {};

TEST_P(DroppedHeader, IsTheLeastUseful) {
  std::vector<std::uint8_t> bytes =
      small_library().note(GetParam().owner, GetParam().note_type, {}).relro().build();
  const ElfFile built = ElfFile::parse(bytes).value();
  for (const ElfSegment& segment : built.image().segments()) {
    std::uint32_t type = segment.type;
    if (type == PT_NOTE) type = GetParam().note;
    if (type == PT_GNU_RELRO) type = GetParam().relro;
    std::memcpy(bytes.data() + segment.at, &type, sizeof type);
    // PT_PHDR leads to the table.
    if (type != PT_PHDR) continue;
    const std::uint64_t place[] = {64, ElfBuilder::base_address + 64};
    std::memcpy(bytes.data() + segment.at + 8, place, sizeof place);
  }

  const auto result = append(file(bytes));

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile elf = ElfFile::parse(*result).value();
  EXPECT_EQ(types_of(elf), GetParam().left);
  EXPECT_EQ(text_at(elf, "blob"), new_container);
}

constexpr std::uint32_t property_header = 0x6474e553;
INSTANTIATE_TEST_SUITE_P(
    Of, DroppedHeader,
    ::testing::Values(Droppable{"NullBeforeNote",
                                PT_NOTE,
                                PT_NULL,
                                "GNU",
                                3,
                                {PT_LOAD, PT_LOAD, PT_DYNAMIC, PT_GNU_STACK, PT_NOTE}},
                      Droppable{"NoteBeforeTableAddress",
                                PT_NOTE,
                                PT_PHDR,
                                "GNU",
                                3,
                                {PT_LOAD, PT_LOAD, PT_DYNAMIC, PT_GNU_STACK, PT_PHDR}},
                      Droppable{"TableAddress",
                                PT_NOTE,
                                PT_PHDR,
                                "GNU",
                                NT_GNU_PROPERTY_TYPE_0,
                                {PT_LOAD, PT_LOAD, PT_DYNAMIC, PT_GNU_STACK, PT_NOTE}},
                      Droppable{"NoteOfPropertiesWithAHeaderOfThem",
                                PT_NOTE,
                                property_header,
                                "GNU",
                                NT_GNU_PROPERTY_TYPE_0,
                                {PT_LOAD, PT_LOAD, PT_DYNAMIC, PT_GNU_STACK, property_header}}),
    [](const auto& test) { return test.param.name; });

// A process with protected branches would refuse the library.
TEST_F(Appended, OnlyNoteOfPropertiesIsKept) {
  const Error error = refuse(file(small_library().note("GNU", NT_GNU_PROPERTY_TYPE_0, {}).build()));

  EXPECT_EQ(error.reason, "ELF_NO_HEADER");
}

TEST_F(Appended, ReservedHeaderIsDroppedBeforeOtherNotes) {
  std::vector<std::uint8_t> bytes =
      small_library().note("GNU", 3, {}).note(reserve_note_owner, 1, {}).relro().build();
  // The second note gets a header of its own.
  const ElfFile built = ElfFile::parse(bytes).value();
  constexpr std::uint64_t build_id_bytes = 16;
  for (const ElfSegment& segment : built.image().segments()) {
    Elf64_Phdr header;
    std::memcpy(&header, bytes.data() + segment.at, sizeof header);
    if (segment.type == PT_NOTE) {
      header.p_filesz = header.p_memsz = build_id_bytes;
    } else if (segment.type == PT_GNU_RELRO) {
      const std::uint64_t at =
          static_cast<std::uint64_t>(
              reinterpret_cast<const std::uint8_t*>(built.notes()[0].owner.data()) - bytes.data()) +
          build_id_bytes - 12;
      header.p_type = PT_NOTE;
      header.p_offset = at;
      header.p_vaddr = header.p_paddr = ElfBuilder::base_address + at;
      header.p_filesz = header.p_memsz = 28;
    }
    std::memcpy(bytes.data() + segment.at, &header, sizeof header);
  }
  ASSERT_EQ(ElfFile::parse(bytes)->notes().size(), 2u);

  const auto result = append(file(bytes));

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile elf = ElfFile::parse(*result).value();
  ASSERT_EQ(elf.notes().size(), 1u);
  EXPECT_EQ(elf.notes()[0].owner, "GNU");
}

TEST_F(Appended, UnknownSymbolIsRefusedWithTheKnownOnes) {
  const Error error = refuse(link(blob_source), "blop");

  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_EQ(
      error.message,
      "library has no variable \"blop\" in its dynamic symbol table, did you mean \"blob\"; it "
      "has blob");
}

TEST_F(Appended, FunctionIsNoVariable) {
  const Error error = refuse(link(blob_source), "twice");

  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_THAT(std::string(error.message), StartsWith("library has no variable \"twice\""));
}

TEST_F(Appended, ImportedSymbolIsNoVariable) {
  const Error error =
      refuse(file(small_library().undefined("other").note("GNU", 3, {}).build()), "other");

  EXPECT_EQ(error.code, Code::not_found);
}

// A relocation of each kind stores the address of the old container.
struct AddressUse {
  std::string name;
  std::vector<std::string> flags;
};
class StoredAddress : public Appended, public ::testing::WithParamInterface<AddressUse> {};

TEST_P(StoredAddress, IsRefused) {
  const std::string path =
      link("const unsigned char blob[16] = {8};\nconst unsigned char* const where = blob + 15;\n",
           GetParam().flags);

  const Error error = refuse(path);

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "ELF_ADDRESS_USED");
  EXPECT_THAT(std::string(error.message), StartsWith("relocation at 0x"));
  EXPECT_THAT(std::string(error.message),
              HasSubstr(" stores an address inside \"blob\", which would still lead to the old "
                        "container"));
}

INSTANTIATE_TEST_SUITE_P(By, StoredAddress,
                         ::testing::Values(AddressUse{"ARelativeRelocation", {"-Wl,-Bsymbolic"}},
                                           AddressUse{
                                               "APackedRelocation",
                                               {"-Wl,-Bsymbolic", "-Wl,-z,pack-relative-relocs"}}),
                         [](const auto& test) { return test.param.name; });

// The linker finds the symbol when it opens the library.
TEST_F(Appended, StoredAddressByTheSymbolIsAccepted) {
  const auto result = append(
      link("const unsigned char blob[16] = {8};\nconst unsigned char* const where = blob + 15;\n"));

  EXPECT_TRUE(result.ok()) << result.error().message;
}

// An address of a variable behind the container.
TEST_F(Appended, StoredAddressOfANeighbourIsAccepted) {
  const auto result =
      append(link("const struct { unsigned char blob[16], next[16]; } both = {{8}, {1}};\n"
                  "asm(\".globl blob\\n.type blob, %object\\n.size blob, 16\\n.set blob, both\");\n"
                  "const unsigned char* const where = both.next;\n",
                  {"-Wl,-Bsymbolic"}));

  EXPECT_TRUE(result.ok()) << result.error().message;
}

constexpr std::string_view system_library =
    "extern int TVMBackendRegisterSystemLibSymbol(const char*, void*);\n"
    "const unsigned char blob[16] = {8};\n"
    "__attribute__((constructor)) static void start(void) {\n"
    "  TVMBackendRegisterSystemLibSymbol(\"blob\", (void*)blob);\n}\n";

TEST_F(Appended, ConstructorWithAFixedAddressIsRefused) {
  const Error error = refuse(link(system_library, {"-Wl,-Bsymbolic"}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "ELF_ADDRESS_USED");
  // The linker replaces the load of an address by its computation, or stores it.
  EXPECT_THAT(
      std::string(error.message),
      ::testing::AnyOf(
          StartsWith("constructor of the library calls TVMBackendRegisterSystemLibSymbol but "
                     "no relocation names \"blob\": it would register the old container"),
          StartsWith("relocation at 0x")));
}

TEST_F(Appended, ConstructorThatLoadsTheSymbolsAddressIsAccepted) {
  const auto result = append(link(system_library));

  EXPECT_TRUE(result.ok()) << result.error().message;
}

struct Signed {
  std::string name;
  std::vector<std::string> words;
  std::string part, writer;
};
class SignedLibrary : public Appended, public ::testing::WithParamInterface<Signed> {};

TEST_P(SignedLibrary, IsRefused) {
  const std::string path = link(blob_source);
  test::write_file(temp() / "signature", "s");
  std::vector<std::string> words = {"objcopy"};
  words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
  words.push_back(path);
  ASSERT_TRUE(run_compiler("objcopy", words, {temp().path(), temp().path(), {}}).ok());

  const Error error = refuse(path);

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "ELF_SIGNED");
  EXPECT_THAT(std::string(error.message),
              StartsWith("library is signed: section \"" + GetParam().part + "\" at 0x"));
  EXPECT_THAT(std::string(error.message),
              HasSubstr(" is written by " + GetParam().writer +
                        "; another container would make the signature invalid"));
}

INSTANTIATE_TEST_SUITE_P(
    By, SignedLibrary,
    ::testing::Values(
        Signed{"Elfsign",
               {"--add-section", ".SUNW_signature=signature"},
               ".SUNW_signature",
               "elfsign of Solaris and illumos"},
        Signed{"OpenHarmony",
               {"--add-section", ".codesign=signature"},
               ".codesign",
               "binary-sign-tool of OpenHarmony"},
        Signed{"BinarySigner",
               {"--add-section", ".text_sig=signature"},
               ".text_sig",
               "linux-elf-binary-signer"},
        Signed{"KernelModule", {"--add-section", ".signature=signature"}, ".signature", "kEIPM"},
        Signed{"Gpg", {"--add-section", ".gpg=signature"}, ".gpg", "ymp"}),
    [](const auto& test) { return test.param.name; });

// DigSig finds the section by its type.
TEST_F(Appended, SectionOfTheTypeOfSignaturesIsRefused) {
  std::vector<std::uint8_t> bytes = small_library().note("GNU", 3, {}).sections().build();
  const std::uint64_t section = ElfFile::parse(bytes)->image().sections()[2].at;
  const std::uint32_t type = 0x80736967;
  std::memcpy(bytes.data() + section + 4, &type, sizeof type);

  const Error error = refuse(file(bytes));

  EXPECT_EQ(error.reason, "ELF_SIGNED");
  EXPECT_THAT(std::string(error.message), HasSubstr(" is written by bsign, for DigSig; "));
}

TEST_F(Appended, SignatureBehindTheLibraryIsRefused) {
  std::vector<std::uint8_t> bytes = test::read_file(link(blob_source));
  const std::uint64_t size = bytes.size();
  const std::string_view trailer = "~Module signature appended~\n";
  bytes.insert(bytes.end(), trailer.begin(), trailer.end());

  const Error error = refuse(file(bytes));

  EXPECT_EQ(error.reason, "ELF_SIGNED");
  EXPECT_EQ(error.message,
            concat("library is signed: the text \"~Module signature appended~\" at its end at ",
                   Hex{size},
                   " is written by sign-file of Linux; another container would make the signature "
                   "invalid"));
}

TEST_F(Appended, OtherFilesAreRefused) {
  struct Other {
    std::vector<std::uint8_t> bytes;
    Code code;
    std::string message;
  };
  std::vector<std::uint8_t> narrow = small_library().build(), big = narrow;
  narrow[4] = 1;
  big[5] = 2;
  std::swap(big[18], big[19]);
  const Other others[] = {
      {narrow, Code::unsupported,
       concat("ELF file is 32-bit ", name_of(host_machine()), ", expected 64-bit")},
      {big, Code::unsupported,
       concat("ELF file is big-endian ", name_of(host_machine()), ", expected little-endian")},
      {small_library().type(2).build(), Code::unsupported,
       "file is a program, expected a shared library"},
      {small_library().dynamic(0x6ffffffb, 0x08000000).build(), Code::unsupported,
       "file is a program, expected a shared library"},
      {test::relocatable_object("blob", std::vector<std::uint8_t>(16)), Code::unsupported,
       "file is an object file, expected a shared library"},
      {small_library().machine(243).build(), Code::unsupported,
       "library is for riscv, a container can be appended for x86-64 and aarch64"},
  };
  for (const Other& other : others) {
    const Error error = refuse(file(other.bytes));
    EXPECT_EQ(error.code, other.code);
    EXPECT_EQ(error.message, other.message);
  }
}

// A copy of a part of the library is refused at every length.
TEST_F(Appended, TruncatedLibraryIsRefused) {
  const std::vector<std::uint8_t> bytes = test::read_file(link(blob_source));
  for (std::size_t size = 1; size < bytes.size(); size += 61) {
    const Error error = refuse(file(std::span(bytes).first(size)));
    EXPECT_EQ(error.code, Code::malformed) << size;
  }
}

TEST_F(Appended, SegmentWithABadAlignmentIsRefused) {
  std::vector<std::uint8_t> bytes = small_library().note("GNU", 3, {}).build();
  constexpr std::size_t alignment_at = 64 + 48;
  bytes[alignment_at] = 3;

  const Error error = refuse(file(bytes));

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.offset, alignment_at);
  EXPECT_EQ(error.message,
            "segment 0 is aligned to 4099, expected a power of two up to 1073741824");
}

TEST_F(Appended, EmptyContainerIsRefused) {
  const auto result = append(link(blob_source), "");

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid);
  EXPECT_EQ(result.error().message, "container is empty, minimum is 16 bytes");
}

// The section table names the dynamic symbols as those of .symtab, too.
TEST_F(Appended, OverlappingTablesAreRefused) {
  std::vector<std::uint8_t> bytes = small_library().note("GNU", 3, {}).sections().build();
  const ElfFile built = ElfFile::parse(bytes).value();
  bytes[built.image().sections()[1].at + 4] = SHT_SYMTAB;
  const std::uint64_t section_at = built.find("blob")->at + 6;

  const Error error = refuse(file(bytes));

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.offset, section_at);
  EXPECT_EQ(error.message, concat("an entry of a table begins at ", Hex{section_at},
                                  ", inside another one, which ends at ", Hex{section_at + 2}));
}

// The dynamic symbols are moved into the container that is replaced.
TEST_F(Appended, SymbolsInsideTheOldContainerAreRefused) {
  std::vector<std::uint8_t> bytes =
      append(file(small_library().note("GNU", 3, {}).build()), std::string(4096, '\0')).value();
  const ElfFile built = ElfFile::parse(bytes).value();
  const ElfSymbol symbol = *built.find("blob");
  const DynamicValue table = *built.dynamic().find(dynamic_tag::symbols);
  const std::uint64_t container_at = built.offset_in_file(built.bytes_of(symbol).value());
  constexpr std::uint64_t into = 0x100, null_symbol_bytes = 24;
  std::memcpy(bytes.data() + container_at + into, bytes.data() + symbol.at - null_symbol_bytes, 48);
  const std::uint64_t address = symbol.value + into;
  std::memcpy(bytes.data() + table.at, &address, sizeof address);

  const Error error = refuse(file(bytes));

  const std::uint64_t end = container_at + into + 48;
  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.offset, end);
  EXPECT_EQ(error.message,
            concat("a symbol table ends at ", Hex{end},
                   ", inside the part of the file that is replaced, which begins at ",
                   Hex{container_at}));
}

TEST_F(Appended, LibraryThatFillsTheAddressSpaceIsRefused) {
  constexpr std::uint64_t max_address = std::uint64_t{1} << 47;
  const std::vector<std::uint8_t> bytes =
      small_library().note("GNU", 3, {}).memory_behind(max_address - 0x10000 - 0x800).build();

  const Error error = refuse(file(bytes));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.message,
            "container of 30 bytes would be at address 0x800000000000, limit of addresses is "
            "0x800000000000");
}

}  // namespace
}  // namespace gantry
