// SPDX-License-Identifier: Apache-2.0
#include <gantry/array_record.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/words.hpp"

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A record, by default of float32[2, 3]. Each field can be set to a wrong value.
struct Record {
  std::uint64_t magic = array_record_magic;
  std::uint64_t reserved = 0;
  std::int32_t device_type = 1;
  std::int32_t device_id = 0;
  std::int32_t ndim = 2;
  gantry_dtype dtype = {2, 32, 1};
  std::vector<std::int64_t> shape = {2, 3};
  std::int64_t nbytes = 24;
  std::size_t data_bytes = 24;

  Words words() const {
    Words all;
    all.u64(magic).u64(reserved).i32(device_type).i32(device_id).i32(ndim);
    all.u8(dtype.code).u8(dtype.bits).u16(dtype.lanes);
    for (const std::int64_t extent : shape) all.i64(extent);
    return all.i64(nbytes).text(std::string(data_bytes, 'd'));
  }
};

TEST(ArrayRecord, ViewsTheDataAndMovesTheReaderPastThem) {
  const Words words = Words().u8(7).bytes(Record{}.words().bytes()).u8(9);
  ByteReader in(words.bytes(), 100);
  ASSERT_EQ(in.read_u8("before").value(), 7);

  const Result<ArrayRecord> record = read_array_record(in, "weight 3");

  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_EQ(dtype_text(record->dtype), "float32");
  EXPECT_THAT(record->shape, ElementsAre(2, 3));
  EXPECT_EQ(record->data_at, 100u + 1 + 32 + 16 + 8);
  EXPECT_EQ(record->data.data(), words.bytes().data() + 57);
  EXPECT_EQ(record->data.size(), 24u);
  EXPECT_EQ(in.read_u8("after").value(), 9);
}

TEST(ArrayRecord, ReadsAScalarAndAnEmptyArray) {
  const Words scalar = Record{.ndim = 0, .shape = {}, .nbytes = 4, .data_bytes = 4}.words();
  const Words empty = Record{.shape = {0, 3}, .nbytes = 0, .data_bytes = 0}.words();
  ByteReader in_scalar(scalar.bytes());
  ByteReader in_empty(empty.bytes());

  EXPECT_THAT(read_array_record(in_scalar, "a").value().shape, IsEmpty());
  EXPECT_THAT(read_array_record(in_empty, "a").value().data, IsEmpty());
}

// TVM's readers ignore it, so files with any value are in use.
TEST(ArrayRecord, IgnoresTheReservedWordAndTheDeviceId) {
  const Words words = Record{.reserved = 5, .device_id = 3}.words();
  ByteReader in(words.bytes());

  EXPECT_TRUE(read_array_record(in, "a").ok());
}

// Compilers since v0.7 omit the lanes from nbytes; others count them. The stored size is used.
TEST(ArrayRecord, UsesTheStoredSizeOfAVectorType) {
  for (const std::int64_t nbytes : {24, 96}) {
    const Words words = Record{.dtype = {2, 32, 4}, .nbytes = nbytes, .data_bytes = 96}.words();
    ByteReader in(words.bytes());

    const Result<ArrayRecord> record = read_array_record(in, "a");

    ASSERT_TRUE(record.ok()) << record.error().message;
    EXPECT_EQ(record->data.size(), static_cast<std::uint64_t>(nbytes));
  }
}

struct BadRecord {
  std::string name;
  Record record;
  std::uint64_t offset;
  std::string reason;
  std::string message;
  Code code = Code::malformed;
};
void PrintTo(const BadRecord& bad, std::ostream* out) { *out << bad.name; }

class ArrayRecordRefuses : public ::testing::TestWithParam<BadRecord> {};

TEST_P(ArrayRecordRefuses, AtTheWrongField) {
  const BadRecord& bad = GetParam();
  const Words words = bad.record.words();
  ByteReader in(words.bytes());

  const Result<ArrayRecord> record = read_array_record(in, "weight");

  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.error().code, bad.code);
  EXPECT_EQ(record.error().offset, bad.offset);
  EXPECT_EQ(record.error().reason, bad.reason);
  EXPECT_EQ(record.error().message, bad.message);
}

INSTANTIATE_TEST_SUITE_P(
    All, ArrayRecordRefuses,
    ::testing::Values(
        BadRecord{"Magic",
                  {.magic = 0xab},
                  0,
                  "ARRAY_RECORD",
                  "weight: magic is 0xab, expected 0xdd5e40f096b4a13f"},
        BadRecord{"OtherDevice",
                  {.device_type = 2},
                  16,
                  "ARRAY_RECORD",
                  "weight: device type is 2, expected 1 (CPU)"},
        BadRecord{"NegativeNdim",
                  {.ndim = -1},
                  24,
                  "ARRAY_RECORD",
                  "weight: ndim is -1, range is 0 to 32"},
        BadRecord{"NdimAboveTheLimit",
                  {.ndim = 33, .shape = std::vector<std::int64_t>(33, 1), .nbytes = 4},
                  24,
                  "ARRAY_RECORD",
                  "weight: ndim is 33, range is 0 to 32"},
        BadRecord{"NoBits",
                  {.dtype = {2, 0, 1}},
                  28,
                  "ARRAY_RECORD",
                  "weight: dtype has 0 bits and 1 lanes, minimum is 1"},
        BadRecord{"NoLanes",
                  {.dtype = {2, 32, 0}},
                  28,
                  "ARRAY_RECORD",
                  "weight: dtype has 32 bits and 0 lanes, minimum is 1"},
        BadRecord{"Handle",
                  {.dtype = {3, 64, 1}},
                  28,
                  "ARRAY_RECORD",
                  "weight: dtype has code 3, an address, which has no meaning in a file",
                  Code::unsupported},
        BadRecord{"UnknownCode",
                  {.dtype = {99, 8, 1}},
                  28,
                  "ARRAY_RECORD",
                  "weight: dtype has code 99, which this version does not support",
                  Code::unsupported},
        BadRecord{"ImpossibleWidth",
                  {.dtype = {1, 7, 1}},
                  28,
                  "ARRAY_RECORD",
                  "weight: dtype has code 1 and 7 bits, a width that no type has"},
        BadRecord{"NegativeDimension",
                  {.shape = {2, -3}},
                  32,
                  "ARRAY_RECORD",
                  "weight: dimension 1 is -3, minimum is 0"},
        BadRecord{"ShapeOverflows",
                  {.shape = {INT64_MAX, 4}},
                  32,
                  "ARRAY_RECORD",
                  "weight: dimension 0 is 9223372036854775807, room for 2305843009213693951"},
        BadRecord{"SizeTooSmall",
                  {.nbytes = 23},
                  48,
                  "ARRAY_RECORD",
                  "weight: nbytes is 23, float32 of this shape takes 24"},
        BadRecord{"SizeTooLarge",
                  {.nbytes = 25, .data_bytes = 25},
                  48,
                  "ARRAY_RECORD",
                  "weight: nbytes is 25, float32 of this shape takes 24"},
        BadRecord{"NegativeSize",
                  {.nbytes = -24},
                  48,
                  "ARRAY_RECORD",
                  "weight: nbytes is -24, float32 of this shape takes 24"},
        BadRecord{"DataCutOff",
                  {.data_bytes = 20},
                  56,
                  "BLOB_TRUNCATED",
                  "weight data: needs 24 bytes, 20 bytes left"}),
    [](const auto& test) { return test.param.name; });

TEST(ArrayRecord, RefusesEveryTruncation) {
  const Words whole = Record{}.words();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ByteReader in(whole.bytes().first(size));
    EXPECT_FALSE(read_array_record(in, "a").ok()) << "accepted the first " << size << " bytes";
  }
}

}  // namespace
}  // namespace gantry
