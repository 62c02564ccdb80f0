// SPDX-License-Identifier: Apache-2.0
//
// Every damage is one of resnet20_llvm.so, whose container has 1.1 MB.
#include "core/engine/native/unread_pages.hpp"

#include "core/base/mapped_file.hpp"
#include "core/engine/native/linker_file.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_relocation_tables.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace gantry::test {
namespace {

class UnreadPages : public ::testing::Test {
 protected:
  UnreadPages() : bytes_(read_file(golden("tvm-0.12/resnet20_llvm.so"))) {
    const ElfFile elf = ElfFile::parse(bytes_).value();
    const auto container = read_container(elf, PayloadLayouts::built_in()).value();
    at_ = elf.offset_in_file(container.bytes);
    size_ = container.bytes.size();
    const ElfSymbol& symbol = *elf.find(container.blob_symbol);
    address_ = symbol.value;
    symbol_ = static_cast<std::uint32_t>(&symbol - elf.symbols().data()) + 1;
  }

  FileHole pages() const {
    const ElfFile elf = ElfFile::parse(bytes_).value();
    return unread_pages(elf, std::span(bytes_).subspan(at_, size_));
  }
  template <class T>
  void put(std::uint64_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  // File offset of the first relocation of a type.
  std::uint64_t relocation(std::uint32_t type) const {
    const ElfFile elf = ElfFile::parse(bytes_).value();
    const auto table = relocation_tables(elf).value().data;
    for (std::uint64_t at = 0; at < table.size(); at += sizeof(Relocation)) {
      std::uint32_t found = 0;
      std::memcpy(&found, table.data() + at + 8, sizeof found);
      if (found == type) return elf.offset_in_file(table) + at;
    }
    ADD_FAILURE() << "no relocation of type " << type;
    return 0;
  }
  // File offset of the program header of the first segment that is chosen.
  std::uint64_t header(const std::function<bool(const ElfSegment&)>& is_chosen) const {
    const ElfFile elf = ElfFile::parse(bytes_).value();
    return std::ranges::find_if(elf.image().segments(), is_chosen)->at;
  }

  std::vector<std::uint8_t> bytes_;
  // of the container in the file, and its address
  std::uint64_t at_ = 0, size_ = 0, address_ = 0;
  std::uint32_t symbol_ = 0;
};

TEST_F(UnreadPages, AreTheWholePagesOfTheContainer) {
  const FileHole found = pages();

  EXPECT_EQ(found.at % 4096, 0u);
  EXPECT_EQ(found.size % 4096, 0u);
  EXPECT_GE(found.at, at_);
  EXPECT_LT(found.at - at_, 4096u);
  EXPECT_LE(found.at + found.size, at_ + size_);
  EXPECT_LT(at_ + size_ - (found.at + found.size), 4096u);
}

TEST_F(UnreadPages, AreNoneOfASmallContainerOrWithoutOne) {
  const ElfFile elf = ElfFile::parse(bytes_).value();

  EXPECT_EQ(unread_pages(elf, std::span(bytes_).subspan(at_, 4000)).size, 0u);
  EXPECT_EQ(unread_pages(elf, {}).size, 0u);
}

TEST_F(UnreadPages, AreNoneInAWritableSegment) {
  const std::uint64_t segment = header([&](const ElfSegment& each) {
    return each.type == segment_type::load && each.contains(address_, size_);
  });
  put<std::uint32_t>(segment + 4, 6);

  EXPECT_EQ(pages().size, 0u);
}

TEST_F(UnreadPages, AreNoneIfTheLibraryStoresAnAddressInside) {
  const std::uint64_t stored = relocation(symbol_relocation_types(host_machine()).relative);
  put(stored + 16, address_ + size_);
  EXPECT_NE(pages().size, 0u);

  put(stored + 16, address_ + size_ - 1);
  EXPECT_EQ(pages().size, 0u);
}

TEST_F(UnreadPages, AreNoneIfTheLibraryLoadsTheAddress) {
  const std::uint64_t loaded = relocation(symbol_relocation_types(host_machine()).address);
  put(loaded + 12, symbol_);

  EXPECT_EQ(pages().size, 0u);
}

TEST_F(UnreadPages, AreNoneWithAnotherSymbolInside) {
  const ElfFile elf = ElfFile::parse(bytes_).value();
  const auto other = std::ranges::find_if(elf.symbols(), [](const ElfSymbol& symbol) {
    return symbol.defined() && symbol.type == SymbolType::function;
  });
  const std::uint64_t value = other->at + 8;
  put(value, address_ + 8);

  EXPECT_EQ(pages().size, 0u);
}

TEST_F(UnreadPages, AreNoneWithATableInside) {
  const ElfFile elf = ElfFile::parse(bytes_).value();
  const std::uint64_t fini = elf.dynamic().find(dynamic_tag::fini)->at;
  put(fini, address_ + 8);

  EXPECT_EQ(pages().size, 0u);
}

TEST_F(UnreadPages, AreNoneWithAnotherSegmentInside) {
  constexpr std::uint32_t unwind_table = 0x6474e550;
  put(header([](const ElfSegment& each) { return each.type == unwind_table; }) + 8, at_ + 8);

  EXPECT_EQ(pages().size, 0u);
}

TEST_F(UnreadPages, AreZerosInTheCopyForTheLinker) {
  const std::vector<std::uint8_t> before(100, 1);
  std::vector<std::uint8_t> archive = before;
  archive.insert(archive.end(), bytes_.begin(), bytes_.end());
  const auto whole = MappedFile::copy("model.tar", archive).value();
  const auto part =
      MappedFile::part_of(whole, "model.tar/m.so", whole->bytes().subspan(before.size())).value();
  const auto elf = std::make_shared<const ElfFile>(ElfFile::parse(part).value());
  const Container container = read_container(*elf, PayloadLayouts::built_in()).value();

  const auto opened =
      LinkerFile::of(*part, [&] { return unread_pages(*elf, container.bytes); }).value();

  EXPECT_TRUE(opened.is_copy());
  std::vector<std::uint8_t> expected = bytes_;
  const FileHole unread = pages();
  std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(unread.at), unread.size, 0);
  EXPECT_EQ(read_file(opened.path()), expected);
  HostWorld world(1);
  const auto library =
      CpuLibrary::open(part, elf, container.facts, world.services, container.bytes);
  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_TRUE((*library)->is_private_copy());
  EXPECT_NE((*library)->function("tvmgen_default_fused_add_nn_relu"), nullptr);
}

}  // namespace
}  // namespace gantry::test
