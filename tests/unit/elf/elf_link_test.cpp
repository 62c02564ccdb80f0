// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_link.hpp"

#include "core/formats/elf/elf_memory.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/elf/linked_file.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace gantry::test {
namespace {

void expect_accepted(const LinkedFile& file) {
  const Status checked = check_link(ElfFile::parse(file.bytes).value());

  EXPECT_TRUE(checked.ok()) << checked.error().message;
}

TEST(ElfLink, AcceptsTheFileOfTheseTests) { expect_accepted(LinkedFile()); }

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
  file.put<std::uint32_t>(file.header(load) + flags_at, 5);
  file.put<std::uint32_t>(file.header(dynamic) + flags_at, 4);
  file.put<std::uint64_t>(file.hide(13) - 8, 22);

  expect_accepted(file);
}

TEST(ElfLink, AcceptsARelocationOfFourBytesBeforeTheDynamicSegment) {
  LinkedFile file;
  file.put<std::uint32_t>(file.rela(3) + kind_at, half);
  file.put<std::uint64_t>(file.rela(3), ElfBuilder::base_address + file.dynamic_at() - 4);

  expect_accepted(file);
}

TEST(ElfLink, AcceptsThreadLocalSymbolsOfAnotherLibrary) {
  LinkedFile file;
  file.put<std::uint32_t>(file.header(tls), 0x70000000);
  file.put<std::uint8_t>(file.entry("outside") + 4, 0x16);
  file.put<std::uint32_t>(file.rela(4) + symbol_at, 1);

  expect_accepted(file);
}

TEST(ElfLink, AcceptsFunctionsThatOtherLibrariesDefine) {
  LinkedFile file;
  file.put<std::uint64_t>(file.rela(3), file.address("init"));

  expect_accepted(file);
}

TEST(ElfLink, AcceptsFunctionsThatAreFoundByACall) {
  LinkedFile file;
  file.put<std::uint32_t>(file.rela(3) + kind_at, indirect);
  file.put<std::uint32_t>(file.rela(3) + symbol_at, 0);
  file.put(file.rela(3) + addend_at, file.address("code"));
  file.put<std::uint64_t>(file.rela(3), file.address("init"));

  expect_accepted(file);
}

TEST(ElfLink, AcceptsFunctionsWithPackedRelocations) {
  LinkedFile file;
  file.put<std::uint64_t>(file.rela(1), file.address("data"));
  file.put(file.at("init"), file.address("code"));
  // of the next word, by the bitmap
  file.put(file.at("fini"), file.address("code"));
  file.put(file.at("relr"), file.address("init"));

  expect_accepted(file);
}

// As prelink writes it.
TEST(ElfLink, AcceptsAnAddressOfCodeInALibraryWithAFixedAddress) {
  LinkedFile file;
  file.put<std::uint64_t>(file.rela(1), file.address("data"));
  file.put(file.at("init"), file.address("code"));

  expect_accepted(file);
}

TEST(ElfLink, RejectsAnAddressOfCodeInALibraryWithoutAFixedAddress) {
  auto bytes = read_file(golden("tvm-0.12/axpy2_c.so"));
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
  auto bytes = read_file(path);
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
  const auto libraries = libraries_in(golden(""));

  EXPECT_GE(libraries.size(), 28u);
  for (const auto& path : libraries) expect_linkable(path);
}

// unit/elf/fixtures/linked.c
TEST(ElfLink, AcceptsWhatLinkersWrite) {
  const auto libraries = libraries_in(build_tree() / "tests" / "linked");

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
}  // namespace gantry::test
