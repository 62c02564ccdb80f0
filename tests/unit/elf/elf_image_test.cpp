// SPDX-License-Identifier: Apache-2.0
//
// Conversion of addresses and section numbers to bytes of the file.
#include "core/formats/elf/elf_image.hpp"

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

TEST(ElfImage, AcceptsAFileThatIsAHeaderOnly) {
  auto bytes = test::relocatable_object("blob", content);
  bytes.resize(64);
  // e_shoff
  put(bytes, 0x28, std::uint64_t{0});

  EXPECT_TRUE(ElfImage::parse(bytes).ok());
  bytes.resize(63);
  const auto cut = ElfImage::parse(bytes);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, Code::malformed);
  EXPECT_EQ(cut.error().offset, 0u);
  EXPECT_EQ(cut.error().reason, "ELF_TRUNCATED");
  EXPECT_EQ(cut.error().message, "ELF header needs 64 bytes, file has 63 bytes");
}

TEST(ElfImage, ReturnsTheBytesFromTheFirstAddressOfASegment) {
  const auto bytes = ElfBuilder().build();

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  const auto view = image->bytes_to_segment_end(ElfBuilder::base_address, field);
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_EQ(view->size(), bytes.size());
}

TEST(ElfImage, RejectsTheAddressBehindASegment) {
  const auto bytes = ElfBuilder().build();

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  const std::uint64_t end = ElfBuilder::base_address + bytes.size();
  const auto view = image->bytes_to_segment_end(end, field);
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::malformed);
  EXPECT_EQ(view.error().offset, 0x1234u);
  EXPECT_EQ(view.error().message,
            concat("DT_TEST is ", Hex{end},
                   ", in none of the loaded segments, which span 0x10000 to ", Hex{end}));
}

TEST(ElfImage, ReportsTheSpanOfAnEmptyLoadedSegment) {
  auto bytes = ElfBuilder().build();
  // file size and memory size
  put(bytes, 64 + 32, std::uint64_t{0});
  put(bytes, 64 + 40, std::uint64_t{0});

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->bytes_to_segment_end(0x10000, field).error().message,
            "DT_TEST is 0x10000, in none of the loaded segments, which span 0x10000 to 0x10000");
}

TEST(ElfImage, ReportsTheEndOfASegmentUpToTheLargestOffset) {
  auto bytes = ElfBuilder().build();
  put(bytes, 64 + 8, UINT64_MAX - bytes.size());

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->bytes_of_segment(0).error().message,
            concat("segment 0 ends at 0xffffffffffffffff, file ends at ", Hex{bytes.size()}));
}

TEST(ElfImage, ReportsTheEndOfAHeaderTableUpToTheLargestOffset) {
  auto bytes = ElfBuilder().build();
  put(bytes, 0x20, UINT64_MAX - 3 * 56);

  const auto image = ElfImage::parse(bytes);

  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().code, Code::malformed);
  EXPECT_EQ(image.error().offset, bytes.size());
  EXPECT_EQ(image.error().reason, "ELF_TRUNCATED");
  EXPECT_EQ(
      image.error().message,
      concat("program header table ends at 0xffffffffffffffff, file ends at ", Hex{bytes.size()}));
}

// Segment 2 is PT_GNU_STACK, which has no bytes.
TEST(ElfImage, AcceptsAnEmptySegmentAtTheEndOfTheFile) {
  auto bytes = ElfBuilder().build();
  const std::size_t header = 64 + 2 * 56;
  put(bytes, header + 8, std::uint64_t{bytes.size()});

  const auto at_end = ElfImage::parse(bytes);
  ASSERT_TRUE(at_end.ok()) << at_end.error().message;
  EXPECT_TRUE(at_end->bytes_of_segment(2).ok());

  put(bytes, header + 8, std::uint64_t{bytes.size() + 1});
  const auto beyond = ElfImage::parse(bytes);
  ASSERT_TRUE(beyond.ok()) << beyond.error().message;
  EXPECT_EQ(beyond->bytes_of_segment(2).error().reason, "ELF_TRUNCATED");
  EXPECT_TRUE(beyond->check_complete().ok());
}

TEST(ElfImage, ComparesTheSizesOfLoadedSegmentsOnly) {
  auto bytes = ElfBuilder().build();
  put(bytes, 64 + 2 * 56 + 32, std::uint64_t{8});

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->segments()[2].file_size, 8u);
  EXPECT_EQ(image->segments()[2].memory_size, 0u);
}

TEST(ElfImage, ReadsTheSectionCountInSectionZero) {
  auto bytes = ElfBuilder().sections().build();
  const std::size_t sections_at = bytes.size() - 3 * 64;
  // e_shnum
  put(bytes, 0x3c, std::uint16_t{0});
  put(bytes, sections_at + 32, std::uint64_t{3});

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->sections().size(), 3u);
}

TEST(ElfImage, RejectsASectionCountWhoseTableSizeOverflows) {
  auto bytes = ElfBuilder().sections().build();
  const std::size_t sections_at = bytes.size() - 3 * 64;
  put(bytes, 0x3c, std::uint16_t{0});
  put(bytes, sections_at + 32, std::uint64_t{1} << 58);

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  const Status complete = image->check_complete();
  ASSERT_FALSE(complete.ok());
  EXPECT_EQ(complete.error().code, Code::malformed);
  EXPECT_EQ(complete.error().offset, bytes.size());
  EXPECT_EQ(complete.error().reason, "ELF_TRUNCATED");
  EXPECT_EQ(complete.error().message,
            concat("section header table of 288230376151711744 entries is at ", Hex{sections_at},
                   ", file ends at ", Hex{bytes.size()}));
}

TEST(ElfImage, RejectsAWrongSizeOfSectionHeadersAtItsField) {
  auto bytes = ElfBuilder().sections().build();
  put(bytes, 0x3a, std::uint16_t{32});

  const auto image = ElfImage::parse(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  const Status complete = image->check_complete();
  ASSERT_FALSE(complete.ok());
  EXPECT_EQ(complete.error().code, Code::malformed);
  EXPECT_EQ(complete.error().offset, 0x3au);
  EXPECT_EQ(complete.error().message,
            "section header table has entries of 32 bytes, expected 64 bytes");
}

// An image whose PT_GNU_RELRO segment is [address, address + size).
class ProtectedPages : public ::testing::Test {
 protected:
  ElfImage with_relro(std::uint64_t address, std::uint64_t size) {
    bytes = ElfBuilder().relro().build();
    for (std::size_t at = 64;; at += program_header_bytes) {
      std::uint32_t type = 0;
      std::memcpy(&type, bytes.data() + at, sizeof type);
      if (type != segment_type::gnu_relro) continue;
      put(bytes, at + 16, address);
      put(bytes, at + 40, size);
      return ElfImage::parse(bytes).value();
    }
  }

  static constexpr std::uint64_t page = 0x1000;
  std::vector<std::uint8_t> bytes;
};

TEST_F(ProtectedPages, BeginWithThePageOfTheFirstByte) {
  const ElfImage image = with_relro(0x5800, 0x2800);

  EXPECT_FALSE(image.is_protected(0x4ff8, 8, page));
  EXPECT_TRUE(image.is_protected(0x4ff9, 8, page));
  EXPECT_TRUE(image.is_protected(0x5000, 8, page));
}

TEST_F(ProtectedPages, EndWithTheLastPageThatTheSegmentFills) {
  const ElfImage image = with_relro(0x5800, 0x2800);

  EXPECT_TRUE(image.is_protected(0x7ff8, 8, page));
  EXPECT_FALSE(image.is_protected(0x8000, 8, page));
  EXPECT_FALSE(with_relro(0x5800, 0x27ff).is_protected(0x7000, 8, page));
}

TEST_F(ProtectedPages, AreNoneInASegmentThatFillsNoPage) {
  EXPECT_FALSE(with_relro(0x5800, 0x7ff).is_protected(0x5800, 8, page));
}

TEST_F(ProtectedPages, AreNoneWithoutTheSegment) {
  bytes = ElfBuilder().build();

  EXPECT_FALSE(ElfImage::parse(bytes)->is_protected(ElfBuilder::base_address, 8, page));
}

}  // namespace
}  // namespace gantry
