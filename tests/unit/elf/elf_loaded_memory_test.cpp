// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_loaded_memory.hpp"

#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/elf/linked_file.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <filesystem>

namespace gantry {
namespace {

using test::LinkedFile;

std::uint64_t word_at(const LoadedMemory& memory, std::uint64_t address) {
  for (const LoadedSegment& segment : memory.segments) {
    const auto bytes = segment.bytes();
    if (address < segment.address || address - segment.address + 8 > bytes.size()) continue;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + (address - segment.address), sizeof word);
    return word;
  }
  ADD_FAILURE() << address << " is in no segment";
  return 0;
}

// Every library of fixtures/linked.c.
std::vector<std::string> linked_libraries() {
  std::vector<std::string> files;
  const auto directory = test::build_tree() / "tests/linked";
  if (!std::filesystem::exists(directory)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    files.push_back(entry.path().stem().string());
  return files;
}

class LoadedMemoryOf : public ::testing::TestWithParam<std::string> {};
TEST_P(LoadedMemoryOf, HasThePointersOfTheMappedLibrary) {
  const auto path = test::build_tree() / "tests/linked" / (GetParam() + ".so");
  const ElfFile elf = ElfFile::parse(MappedFile::open(path).value()).value();

  const Result<LoadedMemory> memory = loaded_memory(elf);

  ASSERT_TRUE(memory.ok()) << memory.error().message;
  EXPECT_FALSE(memory->pointers.empty());
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  // This linker requires a version that the one that linked the library does not write.
  if (library == nullptr) return;
  link_map* map = nullptr;
  ASSERT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  for (const std::uint64_t address : memory->pointers) {
    std::uint64_t mapped = 0;
    std::memcpy(&mapped, reinterpret_cast<const void*>(map->l_addr + address), sizeof mapped);
    EXPECT_EQ(word_at(*memory, address), mapped - map->l_addr) << concat(Hex{address});
  }
  dlclose(library);
}
INSTANTIATE_TEST_SUITE_P(Every, LoadedMemoryOf, ::testing::ValuesIn(linked_libraries()),
                         [](const auto& test) { return test.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LoadedMemoryOf);

TEST(LoadedMemory, LeavesTheFileUnchanged) {
  const LinkedFile file;
  const std::vector<std::uint8_t> before = file.bytes;

  ASSERT_TRUE(loaded_memory(ElfFile::parse(file.bytes).value()).ok());

  EXPECT_EQ(file.bytes, before);
}

TEST(LoadedMemory, IsNotThatOfAnotherMachine) {
  const std::vector<std::uint8_t> bytes = test::ElfBuilder().machine(243).function("f").build();

  const Result<LoadedMemory> memory = loaded_memory(ElfFile::parse(bytes).value());

  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code, Code::unsupported);
  EXPECT_EQ(memory.error().message,
            "file is for riscv, relocations are known of x86-64 and aarch64");
}

TEST(LoadedMemory, RefusesSegmentsThatOverlap) {
  LinkedFile file;
  std::memcpy(file.bytes.data() + file.header(test::spare),
              file.bytes.data() + file.header(test::load), test::program_header_bytes);

  const Result<LoadedMemory> memory = loaded_memory(ElfFile::parse(file.bytes).value());

  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code, Code::malformed);
}

TEST(LoadedMemory, RefusesAnAddendThatOnlySomeMachinesAdd) {
  LinkedFile file;
  file.make_aarch64();
  ASSERT_TRUE(loaded_memory(ElfFile::parse(file.bytes).value()).ok());
  const std::uint64_t addend = file.put<std::uint64_t>(file.at("plt") + test::addend_at, 0x1000);

  const Result<LoadedMemory> memory = loaded_memory(ElfFile::parse(file.bytes).value());

  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code, Code::malformed);
  EXPECT_EQ(memory.error().offset, addend);
  EXPECT_EQ(memory.error().message,
            "relocation R_AARCH64_JUMP_SLOT of symbol \"outside\" has the addend 0x1000, expected "
            "0");
}

}  // namespace
}  // namespace gantry
