// SPDX-License-Identifier: Apache-2.0
#include <gantry/byte_reader.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/words.hpp"

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ByteReader, ReadsEveryNumberLittleEndianAtAnyAddress) {
  const Words words = Words()
                          .u8(1)
                          .u8(0xfe)
                          .u16(0xabcd)
                          .u32(0x89abcdef)
                          .i32(-2)
                          .u64(0x0123456789abcdef)
                          .i64(INT64_MIN);
  ByteReader in(words.bytes());

  EXPECT_EQ(in.read_u8("n").value(), 1);
  EXPECT_EQ(in.read_u8("n").value(), 0xfe);
  EXPECT_EQ(in.read_u16("n").value(), 0xabcd);
  EXPECT_EQ(in.read_u32("n").value(), 0x89abcdefu);
  EXPECT_EQ(in.read_i32("n").value(), -2);
  EXPECT_EQ(in.read_u64("n").value(), 0x0123456789abcdefu);
  EXPECT_EQ(in.read_i64("n").value(), INT64_MIN);
  EXPECT_TRUE(in.at_end());
}

TEST(ByteReader, CountsFromItsBase) {
  const Words words = Words().u32(7).u32(8);
  ByteReader in(words.bytes(), 100);

  EXPECT_EQ(in.offset(), 100u);
  EXPECT_EQ(in.left(), 8u);
  EXPECT_EQ(in.read_u32("n").value(), 7u);
  EXPECT_EQ(in.offset(), 104u);
  EXPECT_EQ(in.left(), 4u);
  EXPECT_FALSE(in.at_end());
}

TEST(ByteReader, ReturnsViewsOfBytesAndStrings) {
  const Words words = Words().str(std::string_view("a\0b", 3)).str("").text("xyz");
  ByteReader in(words.bytes());

  const std::string_view text = in.read_string("s").value();
  EXPECT_EQ(text, std::string_view("a\0b", 3));
  EXPECT_EQ(static_cast<const void*>(text.data()), words.bytes().data() + 8);
  EXPECT_EQ(in.read_string("s").value(), "");
  const auto bytes = in.read_bytes(3, "b").value();
  EXPECT_EQ(bytes.data(), words.bytes().data() + 19);
  EXPECT_EQ(in.read_bytes(0, "b").value().size(), 0u);
}

TEST(ByteReader, ReadsArraysWithTheOffsetOfEachNumber) {
  const Words words = Words().u64s({5, 6}).u64(1).u32(9).u64(2).i64(-1).i64(-2).u64(0);
  ByteReader in(words.bytes(), 100);

  const U64Array first = in.read_u64_array("a").value();
  EXPECT_THAT(first.value, ElementsAre(5, 6));
  EXPECT_EQ(first.at, 108u);
  EXPECT_EQ(first.offset_of(1), 116u);
  const U32Array second = in.read_u32_array("a").value();
  EXPECT_THAT(second.value, ElementsAre(9));
  EXPECT_EQ(second.offset_of(1), 136u);
  EXPECT_THAT(in.read_i64_array("a").value().value, ElementsAre(-1, -2));
  EXPECT_THAT(in.read_u64_array("a").value().value, IsEmpty());
  EXPECT_TRUE(in.at_end());
}

TEST(ByteReader, ReadsNumbersWithoutACount) {
  const Words words = Words().u16(7).u16(8);
  ByteReader in(words.bytes());

  EXPECT_THAT(in.read_numbers<std::uint16_t>(2, "n").value().value, ElementsAre(7, 8));
  EXPECT_THAT(in.read_numbers<std::uint16_t>(0, "n").value().value, IsEmpty());
}

struct [[gnu::packed]] KindAndSize {
  std::uint16_t kind;
  std::uint32_t size;
};

TEST(ByteReader, ReadsRecordsAtAnyAddress) {
  const Words words = Words().u8(0).u16(0xabcd).u32(0x89abcdef).u8(9);
  ByteReader in(words.bytes());
  ASSERT_TRUE(in.skip(1, "padding").ok());

  const KindAndSize record = in.read_record<KindAndSize>("record").value();

  EXPECT_EQ(std::uint16_t{record.kind}, 0xabcd);
  EXPECT_EQ(std::uint32_t{record.size}, 0x89abcdefu);
  EXPECT_EQ(in.offset(), 7u);
}

TEST(ByteReader, PeeksWithoutMoving) {
  const Words words = Words().u8(1).u8(2).u8(3);
  ByteReader in(words.bytes());
  ASSERT_TRUE(in.skip(1, "first").ok());

  EXPECT_THAT(in.peek(1), ElementsAre(2));
  EXPECT_THAT(in.peek(9), ElementsAre(2, 3));
  EXPECT_THAT(in.rest(), ElementsAre(2, 3));
  EXPECT_EQ(in.offset(), 1u);
}

TEST(ByteReader, SubReaderKeepsTheOffsets) {
  const Words words = Words().u32(1).u32(2).u32(3);
  ByteReader in(words.bytes(), 100);
  ASSERT_TRUE(in.skip(4, "first").ok());

  ByteReader part = in.sub_reader(4, "part").value();

  EXPECT_EQ(part.offset(), 104u);
  EXPECT_EQ(part.read_u32("n").value(), 2u);
  EXPECT_EQ(part.read_u8("n").error().offset, 108u);
  EXPECT_EQ(in.offset(), 108u);
  EXPECT_EQ(in.read_u32("n").value(), 3u);
}

// Each row is a read at offset 102 that fails without moving the reader.
struct TooShort {
  std::string name;
  Words words;
  std::function<Status(ByteReader&)> read;
  std::string message;
};
void PrintTo(const TooShort& test, std::ostream* out) { *out << test.name; }

template <class T>
Status status_of(const Result<T>& result) {
  return result.ok() ? Status() : Status(result.error());
}

class ByteReaderRefuses : public ::testing::TestWithParam<TooShort> {};

TEST_P(ByteReaderRefuses, NamingTheFieldWithoutMoving) {
  const TooShort& test = GetParam();
  const Words words = Words().u16(0xffff).bytes(test.words.bytes());
  ByteReader in(words.bytes(), 100);
  ASSERT_TRUE(in.skip(2, "before").ok());

  const Status read = test.read(in);

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::malformed);
  EXPECT_EQ(read.error().reason, "BLOB_TRUNCATED");
  EXPECT_EQ(read.error().offset, 102u);
  EXPECT_EQ(read.error().message, test.message);
  EXPECT_EQ(in.offset(), 102u);
}

Words some(std::size_t size) { return Words().text(std::string(size, '\0')); }

INSTANTIATE_TEST_SUITE_P(
    All, ByteReaderRefuses,
    ::testing::Values(
        TooShort{"U8", some(0), [](ByteReader& in) { return status_of(in.read_u8("flag")); },
                 "flag: needs 1 bytes, 0 bytes left"},
        TooShort{"U16", some(1), [](ByteReader& in) { return status_of(in.read_u16("lanes")); },
                 "lanes: needs 2 bytes, 1 bytes left"},
        TooShort{"U32", some(3), [](ByteReader& in) { return status_of(in.read_u32("ndim")); },
                 "ndim: needs 4 bytes, 3 bytes left"},
        TooShort{"I32", some(3), [](ByteReader& in) { return status_of(in.read_i32("ndim")); },
                 "ndim: needs 4 bytes, 3 bytes left"},
        TooShort{"U64", some(7), [](ByteReader& in) { return status_of(in.read_u64("count")); },
                 "count: needs 8 bytes, 7 bytes left"},
        TooShort{"I64", some(7), [](ByteReader& in) { return status_of(in.read_i64("extent")); },
                 "extent: needs 8 bytes, 7 bytes left"},
        TooShort{"Record", some(5),
                 [](ByteReader& in) { return status_of(in.read_record<KindAndSize>("header")); },
                 "header: needs 6 bytes, 5 bytes left"},
        TooShort{"Bytes", some(4),
                 [](ByteReader& in) { return status_of(in.read_bytes(5, "data")); },
                 "data: needs 5 bytes, 4 bytes left"},
        TooShort{"BytesOfAnySize", some(4),
                 [](ByteReader& in) { return status_of(in.read_bytes(UINT64_MAX, "data")); },
                 "data: needs 16.0 EiB (18446744073709551615 bytes), 4 bytes left"},
        TooShort{"Skip", some(4), [](ByteReader& in) { return in.skip(5, "padding"); },
                 "padding: needs 5 bytes, 4 bytes left"},
        TooShort{"SubReader", some(4),
                 [](ByteReader& in) { return status_of(in.sub_reader(5, "body")); },
                 "body: needs 5 bytes, 4 bytes left"},
        TooShort{"StringWithoutLength", some(7),
                 [](ByteReader& in) { return status_of(in.read_string("key")); },
                 "key: needs 8 bytes, 7 bytes left"},
        TooShort{"StringPastTheEnd", Words().u64(4).text("abc"),
                 [](ByteReader& in) { return status_of(in.read_string("key")); },
                 "key: length is 4 bytes, room for 3 bytes"},
        TooShort{"StringOfAnyLength", Words().u64(UINT64_MAX).text("abc"),
                 [](ByteReader& in) { return status_of(in.read_string("key")); },
                 "key: length is 16.0 EiB (18446744073709551615 bytes), room for 3 bytes"},
        TooShort{"Count", Words().u64(3).bytes(some(17).bytes()),
                 [](ByteReader& in) { return status_of(in.read_count(8, "names")); },
                 "names: count 3, room for 2"},
        // A count of 2^61 times 8 bytes is 0 in 64 bits.
        TooShort{"CountThatOverflows", Words().u64(std::uint64_t{1} << 61).bytes(some(16).bytes()),
                 [](ByteReader& in) { return status_of(in.read_u64_array("row pointers")); },
                 "row pointers: count 2305843009213693952, room for 2"},
        TooShort{"U32Array", Words().u64(3).bytes(some(11).bytes()),
                 [](ByteReader& in) { return status_of(in.read_u32_array("words")); },
                 "words: count 3, room for 2"},
        TooShort{"I64Array", Words().u64(1),
                 [](ByteReader& in) { return status_of(in.read_i64_array("shape")); },
                 "shape: count 1, room for 0"},
        TooShort{
            "Numbers", some(7),
            [](ByteReader& in) { return status_of(in.read_numbers<std::uint32_t>(2, "words")); },
            "words: count 2, room for 1"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry
