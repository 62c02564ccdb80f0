// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_file.hpp"

#include "core/formats/elf/elf_x86.hpp"

#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace gantry {
namespace {

using test::ElfBuilder;
using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint8_t content[] = {1, 2, 3, 4, 5};

std::vector<std::string_view> names_of(const ElfFile& file) {
  std::vector<std::string_view> names;
  for (const ElfSymbol& symbol : file.symbols()) names.push_back(symbol.name);
  return names;
}

template <class T>
void put(std::vector<std::uint8_t>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// File offset of the entry `sought` of the dynamic segment, which program header 1 describes.
std::size_t entry_at(const std::vector<std::uint8_t>& bytes, std::uint64_t sought) {
  std::uint64_t at, tag;
  std::memcpy(&at, bytes.data() + 64 + 56 + 8, sizeof at);
  for (;; at += 16) {
    std::memcpy(&tag, bytes.data() + at, sizeof tag);
    if (tag == sought) return at;
  }
}

std::uint64_t dynamic_entry(const std::vector<std::uint8_t>& bytes, std::uint64_t tag) {
  std::uint64_t value;
  std::memcpy(&value, bytes.data() + entry_at(bytes, tag) + 8, sizeof value);
  return value;
}

void set_dynamic(std::vector<std::uint8_t>& bytes, std::uint64_t tag, std::uint64_t value) {
  put(bytes, entry_at(bytes, tag) + 8, value);
}

void set_tag(std::vector<std::uint8_t>& bytes, std::uint64_t tag, std::uint64_t other) {
  put(bytes, entry_at(bytes, tag), other);
}

TEST(ElfFile, ReadsALibraryOfAnotherMachine) {
  const auto bytes = ElfBuilder().machine(183).object("data", content).build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->machine(), ElfMachine::aarch64);
  EXPECT_EQ(name_of(file->machine()), "aarch64");
  EXPECT_EQ(file->type(), ElfType::shared);
}

TEST(ElfFile, NamesAnUnknownMachineByItsNumber) {
  const auto bytes = ElfBuilder().machine(1234).build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(name_of(file->machine()), "machine 1234");
}

TEST(ElfFile, NamesEveryKnownMachine) {
  EXPECT_EQ(name_of(ElfMachine::i386), "i386");
  EXPECT_EQ(name_of(ElfMachine::arm), "arm");
  EXPECT_EQ(name_of(ElfMachine::x86_64), "x86-64");
  EXPECT_EQ(name_of(ElfMachine::ppc64), "ppc64");
  EXPECT_EQ(name_of(ElfMachine{8}), "mips");
  EXPECT_EQ(name_of(ElfMachine{20}), "ppc");
  EXPECT_EQ(name_of(ElfMachine::s390), "s390x");
  EXPECT_EQ(name_of(ElfMachine::hexagon), "hexagon");
  EXPECT_EQ(name_of(ElfMachine::cuda), "cuda");
  EXPECT_EQ(name_of(ElfMachine::amdgpu), "amdgpu");
  EXPECT_EQ(name_of(ElfMachine::riscv), "riscv");
  EXPECT_EQ(name_of(ElfMachine::loongarch), "loongarch");
}

TEST(ElfFile, ReadsTheMachineOfThisProgram) {
  const auto self = MappedFile::open("/proc/self/exe");
  ASSERT_TRUE(self.ok()) << self.error().message;

  const auto file = ElfFile::parse(*self);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->machine(), host_machine());
}

TEST(ElfFile, DistinguishesAProgramFromALibrary) {
  const auto bytes = test::read_file(test::build_tree() / "tests/fake_plugins/fake_program");
  const auto program = ElfFile::parse(bytes);
  const auto library = test::read_file(test::golden("tvm-0.12/axpy2_llvm.so"));

  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_TRUE(program->flags().pie);
  EXPECT_THAT(program->interpreter(), HasSubstr("ld-"));
  EXPECT_FALSE(ElfFile::parse(library)->flags().pie);
  EXPECT_EQ(ElfFile::parse(library)->interpreter(), "");
}

TEST(ElfFile, ReadsSymbols) {
  const auto bytes = ElfBuilder().undefined("puts").object("data", content).function("run").build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(names_of(*file), ElementsAre("puts", "data", "run"));
  const ElfSymbol& data = *file->find("data");
  EXPECT_TRUE(data.defined());
  EXPECT_TRUE(data.exported());
  EXPECT_EQ(data.type, SymbolType::object);
  EXPECT_EQ(data.binding, SymbolBinding::global);
  EXPECT_EQ(data.size, sizeof content);
  EXPECT_EQ(file->find("run")->type, SymbolType::function);
  EXPECT_FALSE(file->find("puts")->defined());
  EXPECT_FALSE(file->find("puts")->exported());
  EXPECT_EQ(file->find("put"), nullptr);
  EXPECT_EQ(file->find("putss"), nullptr);
}

TEST(ElfFile, PrefersTheDefinedSymbolOfAName) {
  const auto bytes = ElfBuilder().undefined("data").object("data", content).build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file->find("data")->defined());
}

TEST(ElfFile, ReadsTheDynamicSegment) {
  const auto bytes = ElfBuilder()
                         .needed("liba.so.1")
                         .needed("libb.so")
                         .soname("me.so")
                         .rpath("/old")
                         .runpath("$ORIGIN/../lib")
                         .version_need("liba.so.1", {"A_1", "A_2"})
                         .version_need("libb.so", {"B_1"})
                         .build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(file->needed(), ElementsAre("liba.so.1", "libb.so"));
  EXPECT_EQ(file->soname(), "me.so");
  EXPECT_EQ(file->rpath(), "/old");
  EXPECT_EQ(file->runpath(), "$ORIGIN/../lib");
  ASSERT_EQ(file->version_needs().size(), 3u);
  EXPECT_EQ(file->version_needs()[1].file, "liba.so.1");
  EXPECT_EQ(file->version_needs()[1].version, "A_2");
  EXPECT_EQ(file->version_needs()[2].version, "B_1");
  EXPECT_FALSE(file->version_needs()[2].weak);
}

TEST(ElfFile, ReadsNotes) {
  const auto bytes = ElfBuilder().note("GANTRY", 1, content).note("GNU", 3, content).build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->notes().size(), 2u);
  EXPECT_EQ(file->notes()[0].owner, "GANTRY");
  EXPECT_EQ(file->notes()[0].type, 1u);
  EXPECT_THAT(file->notes()[0].content, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(file->notes()[1].owner, "GNU");
}

// Flags come from program headers, separate dynamic tags, DT_FLAGS and DT_FLAGS_1.
struct Flag {
  std::string name;
  ElfBuilder file;
  bool ElfFlags::*flag;
};

class ElfFlag : public ::testing::TestWithParam<Flag> {};

TEST_P(ElfFlag, IsSetOnlyByItsEntry) {
  const auto with = GetParam().file.build();
  const auto without = ElfBuilder().build();

  EXPECT_TRUE(ElfFile::parse(with)->flags().*GetParam().flag);
  EXPECT_FALSE(ElfFile::parse(without)->flags().*GetParam().flag);
}

INSTANTIATE_TEST_SUITE_P(
    Each, ElfFlag,
    ::testing::Values(
        Flag{"Pie", ElfBuilder().dynamic(0x6ffffffb, 0x08000000), &ElfFlags::pie},
        Flag{"BindNowTag", ElfBuilder().dynamic(24, 0), &ElfFlags::bind_now},
        Flag{"BindNowFlag", ElfBuilder().dynamic(30, 8), &ElfFlags::bind_now},
        Flag{"BindNowFlag1", ElfBuilder().dynamic(0x6ffffffb, 1), &ElfFlags::bind_now},
        Flag{"TextRelTag", ElfBuilder().dynamic(22, 0), &ElfFlags::text_relocations},
        Flag{"TextRelFlag", ElfBuilder().dynamic(30, 4), &ElfFlags::text_relocations},
        Flag{"StaticTls", ElfBuilder().dynamic(30, 16), &ElfFlags::static_tls},
        Flag{"ExecutableStack", ElfBuilder().executable_stack(), &ElfFlags::executable_stack}),
    [](const auto& test) { return test.param.name; });

TEST(ElfFile, ReadsTheSizeOfThreadLocalStorage) {
  const auto bytes = ElfBuilder().tls(0x100000).build();

  EXPECT_EQ(ElfFile::parse(bytes)->tls_size(), 0x100000u);
}

TEST(ElfFile, ReadsRelroAndTheStackHeaderOfARealLibrary) {
  const auto bytes = test::read_file(test::golden("tvm-0.12/axpy2_llvm.so"));

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file->flags().relro);
  EXPECT_TRUE(file->flags().stack_header);
  EXPECT_FALSE(file->flags().executable_stack);
}

TEST(ElfFile, CountsSymbolsByEitherHashTable) {
  for (const ElfBuilder::Hash hash :
       {ElfBuilder::Hash::gnu, ElfBuilder::Hash::sysv, ElfBuilder::Hash::both}) {
    const auto bytes =
        ElfBuilder().undefined("a").object("b", content).object("c", content).hash(hash).build();

    const auto file = ElfFile::parse(bytes);

    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_THAT(names_of(*file), ElementsAre("a", "b", "c"));
  }
}

TEST(ElfFile, CountsUndefinedSymbolsWithoutHashedOnes) {
  const auto bytes = ElfBuilder().undefined("a").undefined("b").build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(names_of(*file), ElementsAre("a", "b"));
}

// GNU ld writes the same hash table for any number of undefined symbols.
TEST(ElfFile, FindsUndefinedSymbolsWithAnEmptyHashTable) {
  const auto builder = ElfBuilder().undefined("a").undefined("b").hash(ElfBuilder::Hash::gnu_empty);
  const auto plain = builder.build();
  const auto with_sections = ElfBuilder(builder).sections().build();

  const auto by_next_table = ElfFile::parse(plain);
  const auto by_section = ElfFile::parse(with_sections);

  ASSERT_TRUE(by_next_table.ok()) << by_next_table.error().message;
  ASSERT_TRUE(by_section.ok()) << by_section.error().message;
  EXPECT_THAT(names_of(*by_next_table), ElementsAre("a", "b"));
  EXPECT_THAT(names_of(*by_section), ElementsAre("a", "b"));
}

// There may be other data between the symbols and the next table, so the section table is
// preferred.
TEST(ElfFile, PrefersTheSectionTableToTheNextTable) {
  auto bytes = ElfBuilder()
                   .undefined("a")
                   .undefined("b")
                   .hash(ElfBuilder::Hash::gnu_empty)
                   .sections()
                   .build();
  std::uint64_t sections_at, one_less = 2 * 24;
  std::memcpy(&sections_at, bytes.data() + 0x28, sizeof sections_at);
  std::memcpy(bytes.data() + sections_at + 64 + 32, &one_less, sizeof one_less);

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(names_of(*file), ElementsAre("a"));
}

TEST(ElfFile, ReadsNoSymbolIfTheCountIsUnknown) {
  auto bytes = ElfBuilder().undefined("a").hash(ElfBuilder::Hash::gnu_empty).build();
  const std::uint64_t behind_all_tables = ElfBuilder::base_address + entry_at(bytes, 5);
  set_dynamic(bytes, 6, behind_all_tables);

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(file->symbols(), IsEmpty());
}

TEST(ElfFile, ReadsSymbolsOfARelocatableObject) {
  const auto bytes = test::relocatable_object("blob", content);

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->type(), ElfType::relocatable);
  ASSERT_NE(file->find("blob"), nullptr);
  const auto view = file->bytes_of(*file->find("blob"));
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_THAT(*view, ElementsAre(1, 2, 3, 4, 5));
}

TEST(ElfFile, ReadsALibraryWithoutSectionHeaders) {
  auto bytes = test::read_file(test::golden("tvm-0.12/axpy2_opencl.so"));
  const auto whole = ElfFile::parse(bytes);
  auto stripped_bytes = bytes;
  // e_shoff
  std::memset(stripped_bytes.data() + 0x28, 0, 8);
  // e_shnum, e_shstrndx
  std::memset(stripped_bytes.data() + 0x3c, 0, 4);

  const auto stripped = ElfFile::parse(stripped_bytes);

  ASSERT_TRUE(stripped.ok()) << stripped.error().message;
  EXPECT_THAT(stripped->image().sections(), IsEmpty());
  EXPECT_EQ(names_of(*stripped), names_of(*whole));
  EXPECT_TRUE(stripped->check_complete().ok());
}

TEST(ElfFile, DoesNotFindANameBehindTheLastOne) {
  const auto bytes = ElfBuilder().object("data", content).build();

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->find("datb"), nullptr);
}

TEST(ElfFile, KeepsTheMappingThatItIsReadFrom) {
  std::shared_ptr<const MappedFile> mapped = *MappedFile::open("/proc/self/exe");
  const std::weak_ptr<const MappedFile> watched = mapped;

  const auto file = ElfFile::parse(std::move(mapped));

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_FALSE(watched.expired());
}

TEST(ElfFile, ReadsSymbolsWithoutTheSizeOfTheirEntries) {
  auto bytes = ElfBuilder().object("data", content).build();
  set_tag(bytes, 11, 0x70000000);

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(names_of(*file), ElementsAre("data"));
}

TEST(ElfFile, AcceptsStringsThatEndAtTheEndOfTheirSegment) {
  auto bytes = ElfBuilder().object("data", content).build();
  const std::uint64_t room = ElfBuilder::base_address + bytes.size() - dynamic_entry(bytes, 5);
  set_dynamic(bytes, 10, room);

  EXPECT_TRUE(ElfFile::parse(bytes).ok());
  set_dynamic(bytes, 10, room + 1);
  EXPECT_EQ(ElfFile::parse(bytes).error().code, Code::malformed);
}

// The symbols are the last 48 bytes of the segment: the end of the dynamic segment, whose last
// value is read as the name of symbol 1.
std::vector<std::uint8_t> symbols_at_segment_end(ElfBuilder::Hash hash) {
  auto bytes = ElfBuilder().undefined("a").hash(hash).sections().dynamic(0x70000000, 1).build();
  set_dynamic(bytes, 6, ElfBuilder::base_address + bytes.size() - 3 * 64 - 48);
  return bytes;
}

TEST(ElfFile, AcceptsSymbolsThatEndAtTheEndOfTheirSegment) {
  const auto bytes = symbols_at_segment_end(ElfBuilder::Hash::sysv);

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(names_of(*file), ElementsAre("a"));
}

// Section 1 is .dynsym: its type is at offset 4, its address at 16, its size at 32.
TEST(ElfFile, CountsSymbolsBySectionUpToTheEndOfTheirSegment) {
  auto bytes = symbols_at_segment_end(ElfBuilder::Hash::gnu_empty);
  const std::size_t section = bytes.size() - 2 * 64;
  put(bytes, section + 16, dynamic_entry(bytes, 6));

  put(bytes, section + 32, std::uint64_t{48});
  const auto whole = ElfFile::parse(bytes);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_THAT(names_of(*whole), ElementsAre("a"));

  put(bytes, section + 32, std::uint64_t{49});
  const auto beyond = ElfFile::parse(bytes);
  ASSERT_TRUE(beyond.ok()) << beyond.error().message;
  EXPECT_THAT(names_of(*beyond), IsEmpty());
}

TEST(ElfFile, CountsSymbolsByASectionOfTheirTypeAndAddressOnly) {
  const auto bytes = ElfBuilder()
                         .undefined("a")
                         .undefined("b")
                         .hash(ElfBuilder::Hash::gnu_empty)
                         .sections()
                         .build();
  const std::size_t section = bytes.size() - 2 * 64;
  auto other_type = bytes, other_address = bytes;
  put(other_type, section + 4, std::uint32_t{1});
  put(other_address, section + 16, std::uint64_t{ElfBuilder::base_address});
  for (auto* changed : {&other_type, &other_address}) {
    put(*changed, section + 32, std::uint64_t{24});
    const auto file = ElfFile::parse(*changed);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_THAT(names_of(*file), ElementsAre("a", "b"));
  }
}

TEST(ElfFile, CountsSymbolsByATableBehindTheirStart) {
  auto bytes =
      ElfBuilder().undefined("a").hash(ElfBuilder::Hash::gnu_empty).dynamic(0x6ffffff0, 0).build();
  // DT_VERSYM
  set_dynamic(bytes, 0x6ffffff0, dynamic_entry(bytes, 6));

  const auto file = ElfFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(names_of(*file), ElementsAre("a"));
}

// Each property is a type, a size, and content that is padded to 8 bytes.
TEST(ElfX86Levels, AreThoseOfTheNoteOfProperties) {
  constexpr std::uint32_t properties_note = 5, x86_feature = 0xc0000002, isa_needed = 0xc0008002;
  const auto levels_of = [&](const std::vector<std::uint32_t>& content) {
    const auto bytes = std::as_bytes(std::span(content));
    const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
    const auto file = ElfBuilder().note("GNU", properties_note, {first, bytes.size()}).build();
    return required_x86_levels(ElfFile::parse(file).value());
  };

  EXPECT_EQ(levels_of({x86_feature, 4, 3, 0, isa_needed, 4, 0b111, 0}), 0b111u);
  EXPECT_EQ(levels_of({x86_feature, 4, 3, 0}), 0u);
  EXPECT_EQ(levels_of({isa_needed, 4}), 0u);
  EXPECT_EQ(levels_of({x86_feature, UINT32_MAX, isa_needed, 4, 0b111, 0}), 0u);
  EXPECT_EQ(required_x86_levels(ElfFile::parse(ElfBuilder().build()).value()), 0u);
}

}  // namespace
}  // namespace gantry
