// SPDX-License-Identifier: Apache-2.0
#include "core/writing/container_section.hpp"
#include "core/base/process.hpp"
#include "core/formats/elf/elf_link.hpp"
#include "core/formats/elf/elf_sections.hpp"
#include "tests/support/linker_pages.hpp"
#include "tests/unit/writing/appended.hpp"

#include <elf.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

using test::blob_source;
using test::new_container;
using test::small_library;
using test::text_at;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AppendedSection : public test::Appended {
 protected:
  // Runs a program in the test's directory; expects success.
  std::string run(const std::vector<std::string>& words) const {
    const auto end = run_program(words, temp().path(), 1 << 20);
    EXPECT_TRUE(end.ok()) << end.error().message;
    EXPECT_EQ(end->exit_status, 0) << end->output;
    return end->output;
  }
};

std::vector<std::string> section_names(const ElfFile& elf) {
  SectionNames names = SectionNames::of(elf.image()).value();
  std::vector<std::string> found;
  for (std::size_t i = 0; i < elf.image().sections().size(); ++i) {
    found.emplace_back(names.name(i).value());
  }
  return found;
}

std::size_t section_named(const ElfFile& elf, std::string_view name) {
  const std::vector<std::string> names = section_names(elf);
  EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

template <class Value>
void set(std::vector<std::uint8_t>& bytes, std::uint64_t at, Value value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// The section of each symbol, by value: names of local symbols are not unique.
std::map<std::string, std::string> sections_of_symbols(const ElfFile& elf) {
  const std::vector<std::string> names = section_names(elf);
  const std::size_t table = section_named(elf, ".symtab");
  std::map<std::string, std::string> found;
  const std::vector<ElfSymbol> symbols = section_symbols(elf.image(), table).value();
  for (const ElfSymbol& symbol : symbols) {
    if (!symbol.defined() || symbol.section >= names.size()) continue;
    const bool is_section = symbol.type == SymbolType::section;
    found[is_section ? "section " + names[symbol.section]
                     : std::string(symbol.name) + concat(" ", Hex{symbol.value})] =
        names[symbol.section];
  }
  return found;
}

TEST_F(AppendedSection, ContainsTheSegmentAndTheSymbol) {
  const auto result = append(link(blob_source));

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile elf = ElfFile::parse(*result).value();
  const std::size_t index = section_named(elf, ".gantry.container");
  const ElfSection& section = elf.image().sections()[index];
  EXPECT_EQ(section.type, std::uint32_t{SHT_PROGBITS});
  EXPECT_EQ(section.flags, std::uint64_t{SHF_ALLOC});
  EXPECT_EQ(section.address, elf.find("blob")->value);
  EXPECT_EQ(section.size, new_container.size());
  EXPECT_EQ(section.offset % 4096, 0u);
  EXPECT_EQ(elf.find("blob")->section, index);
  std::uint64_t alignment = 0;
  std::memcpy(&alignment, result->data() + section.at + offsetof(Elf64_Shdr, sh_addralign), 8);
  EXPECT_EQ(alignment, test::linker_page_bytes());
}

// With debug information, many sections follow those that are loaded.
TEST_F(AppendedSection, LeavesTheOthersTheirNamesLinksAndSymbols) {
  const std::string path = link(blob_source, {"-g"});
  const auto before_bytes = test::read_file(path);
  const ElfFile before = ElfFile::parse(before_bytes).value();

  const auto result = append(path);

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile after = ElfFile::parse(*result).value();
  std::vector<std::string> names = section_names(after);
  const auto container = std::ranges::find(names, ".gantry.container");
  ASSERT_NE(container, names.end());
  const auto index = static_cast<std::size_t>(container - names.begin());
  EXPECT_TRUE((after.image().sections()[index - 1].flags & SHF_ALLOC) != 0);
  EXPECT_FALSE((after.image().sections()[index + 1].flags & SHF_ALLOC) != 0);
  const std::size_t links = after.image().sections()[section_named(after, ".symtab")].link;
  EXPECT_EQ(links, section_named(after, ".strtab"));
  names.erase(container);
  EXPECT_EQ(names, section_names(before));
  auto old_symbols = sections_of_symbols(before), new_symbols = sections_of_symbols(after);
  const auto is_blob = [](const auto& entry) { return entry.first.starts_with("blob "); };
  EXPECT_EQ(std::erase_if(old_symbols, is_blob), 1u);
  EXPECT_EQ(std::erase_if(new_symbols, is_blob), 1u);
  EXPECT_GT(old_symbols.size(), 5u);
  for (const auto& [symbol, section] : old_symbols) {
    EXPECT_EQ(new_symbols[symbol], section) << symbol;
  }
}

// .rela.plt refers to the section of its slots.
TEST_F(AppendedSection, LeavesReadelfNothingToWarnOf) {
  const auto result =
      append(link("int puts(const char*);\nconst unsigned char blob[16] = {8};\n"
                  "int say(void) { return puts(\"\"); }\n",
                  {"-g", "-Wl,-z,lazy"}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  file(*result);

  const std::string text = run({"readelf", "-aW", "built.so"});

  EXPECT_THAT(text, HasSubstr(".gantry.container PROGBITS"));
  EXPECT_THAT(text, Not(HasSubstr("arning")));
  EXPECT_THAT(text, Not(HasSubstr("rror")));
}

TEST_F(AppendedSection, IsNotAddedToALibraryWithoutSections) {
  const auto result = append(file(small_library().note("GNU", 3, {}).build()));

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile elf = ElfFile::parse(*result).value();
  EXPECT_THAT(elf.image().sections(), IsEmpty());
  EXPECT_EQ(elf.find("blob")->section, 1u);
  EXPECT_EQ(result->size(),
            elf.offset_in_file(elf.bytes_of(*elf.find("blob")).value()) + new_container.size());
}

TEST_F(AppendedSection, HasNoNameIfTheLibrarysHaveNone) {
  const auto result = append(file(small_library().note("GNU", 3, {}).sections().build()));

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile elf = ElfFile::parse(*result).value();
  ASSERT_EQ(elf.image().sections().size(), 4u);
  EXPECT_EQ(elf.find("blob")->section, 3u);
  EXPECT_EQ(elf.image().sections()[3].address, elf.find("blob")->value);
  EXPECT_THAT(section_names(elf), ElementsAre("", "", "", ""));
}

// Loaded names must stay at their address.
TEST_F(AppendedSection, HasNoNameIfTheNamesAreLoaded) {
  std::vector<std::uint8_t> bytes = small_library().note("GNU", 3, {}).sections().build();
  const ElfSection strings = ElfFile::parse(bytes)->image().sections()[2];
  ASSERT_EQ(strings.flags, std::uint64_t{SHF_ALLOC});
  set(bytes, offsetof(Elf64_Ehdr, e_shstrndx), std::uint16_t{2});

  const auto result = append(file(bytes));

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ElfFile elf = ElfFile::parse(*result).value();
  EXPECT_EQ(elf.image().sections()[2].offset, strings.offset);
  EXPECT_EQ(elf.image().sections()[2].size, strings.size);
  EXPECT_EQ(elf.find("blob")->section, 3u);
  EXPECT_THAT(section_names(elf), ElementsAre("", "", "", ""));
}

// Numbers from 0xff00 on have other meanings.
TEST_F(AppendedSection, IsRefusedWhereNoNumberIsLeft) {
  for (const std::uint64_t count : {0xfefe, 0xfeff}) {
    std::vector<std::uint8_t> bytes = small_library().note("GNU", 3, {}).sections().build();
    const std::uint64_t headers_at = ElfFile::parse(bytes)->image().sections()[0].at;
    bytes.resize(headers_at + count * sizeof(Elf64_Shdr));
    set(bytes, offsetof(Elf64_Ehdr, e_shnum), static_cast<std::uint16_t>(count));

    const auto result = append(file(bytes));

    if (count == 0xfefe) {
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_TRUE(append(file(*result)).ok());
      continue;
    }
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::unsupported);
    EXPECT_EQ(result.error().message,
              "library has 65279 sections, a container can be appended to one with up to 65278");
  }
}

// Earlier releases have left the section headers before the container.
TEST_F(AppendedSection, IsAddedToAContainerThatHasNone) {
  const std::vector<std::uint8_t> library = small_library().note("GNU", 3, {}).sections().build();
  const auto once = append(file(library)).value();
  const ElfFile elf = ElfFile::parse(once).value();
  std::vector<std::uint8_t> earlier(
      once.begin(), once.begin() + static_cast<std::ptrdiff_t>(
                                       elf.offset_in_file(elf.bytes_of(*elf.find("blob")).value()) +
                                       new_container.size()));
  set(earlier, offsetof(Elf64_Ehdr, e_shoff), ElfFile::parse(library)->image().sections()[0].at);
  set(earlier, offsetof(Elf64_Ehdr, e_shnum), std::uint16_t{3});

  const auto again = append(file(earlier));

  ASSERT_TRUE(again.ok()) << again.error().message;
  const ElfFile result = ElfFile::parse(*again).value();
  EXPECT_EQ(result.image().sections().size(), 4u);
  EXPECT_EQ(text_at(result, "blob"), new_container);
  EXPECT_LT(again->size(), once.size() + 16);
}

// A container of which something else in the file is a part is not replaced, so that no program
// header is left for another one.
struct OtherUse {
  std::string name;
  // field of the section header of .dynstr
  std::size_t field;
  // of the container in the file
  std::uint64_t (*value)(std::uint64_t begin, std::uint64_t end);
};
class UsedContainer : public AppendedSection, public ::testing::WithParamInterface<OtherUse> {};

TEST_P(UsedContainer, IsKept) {
  auto once = append(file(small_library().note("GNU", 3, {}).sections().build())).value();
  const ElfFile elf = ElfFile::parse(once).value();
  const ElfSection& container = elf.image().sections()[elf.find("blob")->section];
  const ElfSection& other = elf.image().sections()[2];
  const std::uint64_t begin = container.offset, end = begin + container.size;
  set(once, other.at + offsetof(Elf64_Shdr, sh_flags), std::uint64_t{0});
  set(once, other.at + GetParam().field, GetParam().value(begin, end));

  const Error error = refuse(file(once));

  EXPECT_EQ(error.reason, "ELF_NO_HEADER");
}

INSTANTIATE_TEST_SUITE_P(
    By, UsedContainer,
    ::testing::Values(OtherUse{"ASectionThatBeginsInIt", offsetof(Elf64_Shdr, sh_offset),
                               [](std::uint64_t, std::uint64_t end) { return end - 1; }},
                      OtherUse{"ASectionThatEndsInIt", offsetof(Elf64_Shdr, sh_size),
                               [](std::uint64_t begin, std::uint64_t) { return begin; }},
                      OtherUse{"ASectionThatReachesTheHeaders", offsetof(Elf64_Shdr, sh_offset),
                               [](std::uint64_t, std::uint64_t end) { return end + 16; }}),
    [](const auto& test) { return test.param.name; });

TEST_F(AppendedSection, HeadersInsideAContainerKeepIt) {
  const auto library = small_library().note("GNU", 3, {}).sections().build();
  auto once = append(file(library), std::string(4096, '\0')).value();
  const ElfFile elf = ElfFile::parse(once).value();
  const std::uint64_t begin = elf.offset_in_file(elf.bytes_of(*elf.find("blob")).value());
  const std::uint64_t headers = elf.image().sections()[0].at;
  std::memcpy(once.data() + begin, once.data() + headers, 4 * sizeof(Elf64_Shdr));
  set(once, offsetof(Elf64_Ehdr, e_shoff), begin);
  once.resize(begin + 4096);

  const Error error = refuse(file(once));

  EXPECT_EQ(error.reason, "ELF_NO_HEADER");
}

// A loaded section behind the container is in no segment, so that it cannot be moved.
TEST_F(AppendedSection, LoadedSectionBehindAContainerKeepsIt) {
  auto once = append(link(blob_source)).value();
  const ElfFile elf = ElfFile::parse(once).value();
  const ElfSection& names = elf.image().sections()[section_named(elf, ".shstrtab")];
  set(once, names.at + offsetof(Elf64_Shdr, sh_flags), std::uint64_t{SHF_ALLOC});

  const Error error = refuse(file(once));

  EXPECT_EQ(error.reason, "ELF_NO_HEADER");
}

// The programs that lay a library out again, and linkers with other orders of sections.
struct Layout {
  std::string name;
  std::vector<std::string> link;
  std::vector<std::string> words;
};
class LaidOut : public AppendedSection, public ::testing::WithParamInterface<Layout> {};

TEST_P(LaidOut, KeepsTheContainerAndLetsItBeReplaced) {
  const std::string path = link(
      "const unsigned char blob[16] = {8};\nstatic int state[64];\n__thread int own = 4;\n"
      "int twice(int x) { state[x & 63] = own; return 2 * x; }\n",
      GetParam().link);
  file(append(path).value());
  std::vector<std::string> words = GetParam().words;
  words.insert(words.end(), {"built.so", "copy.so"});
  if (words.front() == "strip") words.insert(words.end() - 1, "-o");

  run(words);

  const auto copy_bytes = test::read_file(temp() / "copy.so");
  const ElfFile copy = ElfFile::parse(copy_bytes).value();
  const ElfSymbol& blob = *copy.find("blob");
  EXPECT_EQ(text_at(copy, "blob"), new_container);
  EXPECT_EQ(copy.offset_in_file(copy.bytes_of(blob).value()) % 4096, 0u);
  EXPECT_EQ(blob.value % 4096, 0u);
  EXPECT_EQ(blob.section, section_named(copy, ".gantry.container"));
  EXPECT_TRUE(check_link(copy).ok());
  EXPECT_THAT(run({"readelf", "-aW", "copy.so"}), Not(HasSubstr("arning")));

  const auto again = append(temp() / "copy.so", "short");
  ASSERT_TRUE(again.ok()) << again.error().message;
  const ElfFile replaced = ElfFile::parse(*again).value();
  EXPECT_EQ(text_at(replaced, "blob"), "short");
  EXPECT_EQ(section_names(replaced), section_names(copy));
  EXPECT_EQ(replaced.find("blob")->section, blob.section);
  const auto back = append(file(*again));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(text_at(ElfFile::parse(*back).value(), "blob"), new_container);
  EXPECT_LT(back->size(), copy_bytes.size() + 32);
  file(*back);
  EXPECT_THAT(run({"readelf", "-aW", "built.so"}), Not(HasSubstr("arning")));
}

INSTANTIATE_TEST_SUITE_P(
    By, LaidOut,
    ::testing::Values(Layout{"Strip", {"-g"}, {"strip"}},
                      Layout{"StripUnneeded", {}, {"strip", "--strip-unneeded"}},
                      Layout{"Objcopy", {"-g"}, {"objcopy"}},
                      Layout{"ObjcopyWithoutDebugSections", {"-g"}, {"objcopy", "--strip-debug"}},
                      Layout{"StripWithLargePages", {"-Wl,-z,max-page-size=0x200000"}, {"strip"}},
                      Layout{"StripWithOneSegmentOfCode", {"-Wl,-z,noseparate-code"}, {"strip"}},
                      Layout{"StripOfGold", {"-fuse-ld=gold", "-Wl,--build-id"}, {"strip"}},
                      Layout{"ObjcopyOfGoldWithLargePages",
                             {"-fuse-ld=gold", "-Wl,--build-id", "-Wl,-z,max-page-size=0x200000"},
                             {"objcopy"}}),
    [](const auto& test) { return test.param.name; });

// Libraries that binutils for aarch64 has linked, with pages of different sizes.
struct LinkedForAarch64 {
  std::string name;
  std::string linker;
  std::vector<std::string> flags;
};
class Aarch64Library : public AppendedSection,
                       public ::testing::WithParamInterface<LinkedForAarch64> {};

TEST_P(Aarch64Library, KeepsItsContainer) {
  test::write_file(temp() / "a.s",
                   ".text\n.globl twice\n.type twice, %function\ntwice: add w0, w0, w0\nret\n"
                   ".size twice, .-twice\n.data\n.globl state\nstate: .xword state\n.bss\n"
                   ".zero 100\n.section .rodata\n.globl blob\n.type blob, %object\nblob:\n"
                   ".zero 16\n.size blob, 16\n.section .debug_info,\"\",%progbits\n.zero 9\n");
  run({"aarch64-linux-gnu-as", "-o", "a.o", "a.s"});
  std::vector<std::string> words = {
      GetParam().linker, "-shared", "--build-id", "-o", "a.so", "a.o"};
  words.insert(words.end(), GetParam().flags.begin(), GetParam().flags.end());
  run(words);

  file(append(temp() / "a.so").value());

  const auto expect_container = [&](const char* name) {
    SCOPED_TRACE(name);
    const auto bytes = test::read_file(temp() / name);
    const ElfFile elf = ElfFile::parse(bytes).value();
    const ElfSymbol& blob = *elf.find("blob");
    EXPECT_EQ(text_at(elf, "blob"), new_container);
    EXPECT_EQ(elf.offset_in_file(elf.bytes_of(blob).value()) % 0x10000, 0u);
    EXPECT_EQ(blob.value % 0x10000, 0u);
    EXPECT_EQ(blob.section, section_named(elf, ".gantry.container"));
    EXPECT_TRUE(check_link(elf).ok());
    const std::string text = run({"readelf", "-aW", name});
    EXPECT_THAT(text, HasSubstr("Machine:                           AArch64\n"));
    EXPECT_THAT(text, HasSubstr("0x00001e 0x00001e R   0x10000\n"));
    EXPECT_THAT(text, Not(HasSubstr("arning")));
  };
  expect_container("built.so");
  run({"aarch64-linux-gnu-strip", "-o", "stripped.so", "built.so"});
  expect_container("stripped.so");
  run({"aarch64-linux-gnu-objcopy", "built.so", "copy.so"});
  expect_container("copy.so");
  file(append(temp() / "stripped.so").value());
  EXPECT_EQ(test::read_file(temp() / "built.so"), test::read_file(temp() / "stripped.so"));
}

INSTANTIATE_TEST_SUITE_P(By, Aarch64Library,
                         ::testing::Values(LinkedForAarch64{"Ld", "aarch64-linux-gnu-ld", {}},
                                           LinkedForAarch64{"LdWithSmallPages",
                                                            "aarch64-linux-gnu-ld",
                                                            {"-z", "max-page-size=0x1000"}},
                                           LinkedForAarch64{
                                               "Gold", "aarch64-linux-gnu-ld.gold", {}}),
                         [](const auto& test) { return test.param.name; });

// A library of gold has two program headers that it can lose.
TEST_F(AppendedSection, IsThereForEachContainerOfALibrary) {
  const std::string path =
      link("const unsigned char a_blob[16] = {8};\nconst unsigned char b_blob[16] = {8};\n",
           {"-fuse-ld=gold", "-Wl,--build-id"});
  const auto first = append(path, "the first container", "a_blob").value();
  const auto both = append(file(first), "the second container", "b_blob");
  ASSERT_TRUE(both.ok()) << both.error().message;
  file(*both);

  run({"strip", "built.so"});

  const auto bytes = test::read_file(temp() / "built.so");
  const ElfFile elf = ElfFile::parse(bytes).value();
  EXPECT_EQ(text_at(elf, "a_blob"), "the first container");
  EXPECT_EQ(text_at(elf, "b_blob"), "the second container");
  EXPECT_EQ(std::ranges::count(section_names(elf), ".gantry.container"), 2);
  EXPECT_EQ(elf.find("a_blob")->value % 4096, 0u);
  EXPECT_EQ(elf.find("b_blob")->section, elf.find("a_blob")->section + 1);
  EXPECT_THAT(run({"readelf", "-aW", "built.so"}), Not(HasSubstr("arning")));
}

// Each byte of the headers, changed: another container is refused or is where the symbol is.
TEST_F(AppendedSection, DamagedHeadersAreRefusedOrHarmless) {
  const auto once = append(link(blob_source)).value();
  const std::uint64_t headers = ElfFile::parse(once)->image().sections()[0].at;
  std::size_t accepted = 0;
  for (std::size_t at = headers; at < once.size(); ++at) {
    if (at % 7 != 0) continue;
    std::vector<std::uint8_t> damaged = once;
    damaged[at] ^= 0xff;
    const auto result = append(file(damaged));
    if (!result.ok()) continue;
    ++accepted;
    EXPECT_EQ(text_at(ElfFile::parse(*result).value(), "blob"), new_container) << at;
  }
  EXPECT_GT(accepted, 10u);
}

}  // namespace
}  // namespace gantry
