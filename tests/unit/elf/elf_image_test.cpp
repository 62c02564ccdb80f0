// SPDX-License-Identifier: Apache-2.0
//
// Conversion of addresses and section numbers to bytes of the file.
#include "core/elf/elf_image.hpp"

#include "tests/support/elf_builder.hpp"
#include "tests/support/words.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace gantry {
namespace {

using test::ElfBuilder;

constexpr std::uint8_t content[] = {1, 2, 3, 4, 5};
constexpr ElfField field{"DT_TEST", 0x1234};

template <class T>
void put(std::vector<std::uint8_t>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST(ElfImage, ReturnsTheBytesFromAnAddressToTheEndOfItsSegment) {
  const auto bytes = ElfBuilder().build();

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  const auto view = image->bytes_to_segment_end(ElfBuilder::base_address + 8, field);
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_EQ(view->data(), bytes.data() + 8);
  EXPECT_EQ(view->size(), bytes.size() - 8);
}

TEST(ElfImage, RejectsAnAddressBeyondTheFilePartOfASegment) {
  const auto bytes = ElfBuilder().memory_behind(64).build();

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  for (const std::uint64_t into : {bytes.size(), bytes.size() + 8}) {
    const std::uint64_t address = ElfBuilder::base_address + into;
    const auto view = image->bytes_to_segment_end(address, field);
    ASSERT_FALSE(view.ok());
    EXPECT_EQ(view.error().code, Code::malformed);
    EXPECT_EQ(view.error().offset, 0x1234u);
    EXPECT_EQ(view.error().message,
              concat("DT_TEST is ", Hex{address}, ", ", into, " bytes into segment 0, which has ",
                     bytes.size(), " bytes in the file"));
  }
  EXPECT_EQ(image->bytes_to_segment_end(ElfBuilder::base_address + bytes.size() - 1, field)->size(),
            1u);
}

TEST(ElfImage, RejectsAnAddressOutsideAllSegments) {
  const auto bytes = ElfBuilder().build();

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  const std::string span = concat(" to ", Hex{ElfBuilder::base_address + bytes.size()});
  for (const std::uint64_t address : {std::uint64_t{0x10}, UINT64_MAX}) {
    const auto view = image->bytes_to_segment_end(address, field);
    ASSERT_FALSE(view.ok());
    EXPECT_EQ(view.error().code, Code::malformed);
    EXPECT_EQ(view.error().offset, 0x1234u);
    EXPECT_EQ(view.error().message,
              concat("DT_TEST is ", Hex{address},
                     ", in none of the loaded segments, which span 0x10000", span));
  }
}

TEST(ElfImage, LimitsTheReportedSpanToTheAddressSpace) {
  auto bytes = ElfBuilder().build();
  put(bytes, 64 + 40, UINT64_MAX);

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->bytes_to_segment_end(0x10, field).error().message,
            "DT_TEST is 0x10, in none of the loaded segments, which span 0x10000 to "
            "0xffffffffffffffff");
}

TEST(ElfImage, RejectsASegmentWhoseEndOverflows) {
  auto bytes = ElfBuilder().build();
  put(bytes, 64 + 8, UINT64_MAX - 1);

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  const auto view = image->bytes_of_segment(0);
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::malformed);
  EXPECT_EQ(view.error().offset, bytes.size());
  EXPECT_EQ(view.error().reason, "ELF_TRUNCATED");
  EXPECT_EQ(view.error().message,
            concat("segment 0 of ", bytes.size(), " bytes is at 0xfffffffffffffffe, file ends at ",
                   Hex{bytes.size()}));
}

TEST(ElfImage, RejectsASectionNumberBeyondTheSectionCount) {
  const auto bytes = ElfBuilder().sections().build();

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(*image->section_index(2, field), 2u);
  const auto index = image->section_index(3, field);
  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, Code::malformed);
  EXPECT_EQ(index.error().offset, 0x1234u);
  EXPECT_EQ(index.error().message, "DT_TEST is section 3, section count is 3");
}

TEST(ElfImage, RejectsASectionBeyondTheEndOfTheFile) {
  auto bytes = test::relocatable_object("blob", content);
  std::uint64_t sections_at;
  std::memcpy(&sections_at, bytes.data() + 0x28, sizeof sections_at);
  put(bytes, sections_at + 64 + 24, std::uint64_t{0x100000});

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  const auto view = image->bytes_of_section(1);
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::malformed);
  EXPECT_EQ(view.error().offset, bytes.size());
  EXPECT_EQ(view.error().reason, "ELF_TRUNCATED");
  EXPECT_EQ(view.error().message,
            concat("section 1 of 13 bytes is at 0x100000, file ends at ", Hex{bytes.size()}));
}

}  // namespace
}  // namespace gantry
