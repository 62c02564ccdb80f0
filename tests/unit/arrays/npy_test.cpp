// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/npy.hpp"

#include "core/formats/arrays/npy_dtype.hpp"
#include "tests/support/words.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A version 1.0 file with this header, as it is, and these data.
Words npy(std::string_view header, std::string_view data = {}) {
  Words file;
  file.text("\x93NUMPY").u8(1).u8(0).u16(static_cast<std::uint16_t>(header.size()));
  return file.text(header).text(data);
}

TEST(Npy, ReadsTypeShapeAndData) {
  const Words file = npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }  \n", "abcd");

  const Result<ArrayRecord> array = read_npy(file.bytes());

  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_EQ(dtype_text(array->dtype), "int16");
  EXPECT_THAT(array->shape, ElementsAre(2, 1));
  EXPECT_THAT(array->data, ElementsAre('a', 'b', 'c', 'd'));
  EXPECT_EQ(array->data_at, file.size() - 4);
}

TEST(Npy, ReadsASingleElement) {
  const Words file = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", "x");

  const Result<ArrayRecord> array = read_npy(file.bytes());

  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_THAT(array->shape, IsEmpty());
  EXPECT_THAT(array->data, ElementsAre('x'));
}

TEST(Npy, ReadsNoElements) {
  const Words file = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0), }\n");

  const Result<ArrayRecord> array = read_npy(file.bytes());

  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_THAT(array->data, IsEmpty());
}

TEST(Npy, AcceptsKeysInAnyOrderAndAnySpacing) {
  const Words file = npy("{ \"shape\" :(1 ,),'fortran_order':False , 'descr':\t'|b1'}\n", "\1");

  const Result<ArrayRecord> array = read_npy(file.bytes());

  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_EQ(dtype_text(array->dtype), "bool");
  EXPECT_THAT(array->shape, ElementsAre(1));
}

TEST(Npy, ReadsTheWideHeaderLengthOfVersions2And3) {
  const std::string_view header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n";
  for (const std::uint8_t major : {2, 3}) {
    Words file;
    file.text("\x93NUMPY").u8(major).u8(0).u32(static_cast<std::uint32_t>(header.size()));
    file.text(header).text("x");

    const Result<ArrayRecord> array = read_npy(file.bytes());

    ASSERT_TRUE(array.ok()) << array.error().message;
    EXPECT_THAT(array->data, ElementsAre('x'));
  }
}

struct BadNpy {
  const char* name;
  std::string header;
  Code code;
  std::uint64_t offset;
  const char* message;
};

class NpyRefuses : public ::testing::TestWithParam<BadNpy> {};

// The header's text begins at offset 10.
TEST_P(NpyRefuses, AtTheWrongWord) {
  const BadNpy& bad = GetParam();
  const Words file = npy(bad.header, "abcd");

  const Result<ArrayRecord> array = read_npy(file.bytes());

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, bad.code);
  EXPECT_EQ(array.error().offset, bad.offset);
  EXPECT_EQ(array.error().message, bad.message);
}

constexpr Code kBad = Code::malformed, kNotOurs = Code::unsupported;
const std::string kHuge = std::string("9223372036854775808");
std::string with_shape(std::string_view shape) {
  return concat("{'descr': '|u1', 'fortran_order': False, 'shape': ", shape, "}\n");
}
std::string with_descr(std::string_view descr) {
  return concat("{'descr': ", descr, ", 'fortran_order': False, 'shape': (4,)}\n");
}
std::string ones(int count) {
  std::string shape = "(";
  for (int i = 0; i < count; ++i) shape += "1,";
  return shape + ")";
}

INSTANTIATE_TEST_SUITE_P(
    Headers, NpyRefuses,
    ::testing::Values(
        BadNpy{"Empty", "", kBad, 10, "npy header does not end with a newline"},
        BadNpy{"NoNewline", "{}", kBad, 12, "npy header does not end with a newline"},
        BadNpy{"NoBrace", "'descr'\n", kBad, 10,
               "npy header: \"'descr'\" where the header begins, expected '{'"},
        BadNpy{"NoKeys", "{}\n", kBad, 10, "npy header has no key \"descr\""},
        BadNpy{"NoOrder", "{'descr': '|u1', 'shape': (4,)}\n", kBad, 10,
               "npy header has no key \"fortran_order\""},
        BadNpy{"NoShape", "{'descr': '|u1', 'fortran_order': False}\n", kBad, 10,
               "npy header has no key \"shape\""},
        BadNpy{"OtherKey", "{'descr': '|u1', 'kind': 1}\n", kBad, 27,
               "npy header: key is \"kind\", keys are descr, fortran_order, shape"},
        BadNpy{"KeyTwice", "{'descr': '|u1', 'descr': '|u1'}\n", kBad, 27,
               "npy header: key \"descr\" occurs twice"},
        BadNpy{"OrderTwice", "{'fortran_order': False, 'fortran_order': False}\n", kBad, 35,
               "npy header: key \"fortran_order\" occurs twice"},
        BadNpy{"ShapeTwice", "{'shape': (), 'shape': ()}\n", kBad, 24,
               "npy header: key \"shape\" occurs twice"},
        BadNpy{"NoQuote", "{descr: 1}\n", kBad, 11,
               "npy header: \"descr: 1}\" where a key belongs"},
        BadNpy{"OpenQuote", "{'descr\n", kBad, 11, "npy header: a key has no closing quote"},
        BadNpy{"NoColon", "{'descr' '|u1'}\n", kBad, 19,
               "npy header: \"'|u1'}\" behind a key, expected ':'"},
        BadNpy{"EndsInside", "{'descr':\n", kBad, 19, "npy header: end where the type belongs"},
        BadNpy{"NoComma", "{'descr': '|u1' 'shape': ()}\n", kBad, 26,
               "npy header: \"'shape': ()}\" behind a value, expected '}'"},
        BadNpy{"GoesOn", with_shape("(4,)").insert(with_shape("(4,)").size() - 1, " x"), kBad, 66,
               "npy header goes on behind '}'"},
        BadNpy{"NulBehind", with_shape("(4,)").insert(with_shape("(4,)").size() - 1, 1, '\0'), kBad,
               65, "npy header goes on behind '}'"},
        BadNpy{"OrderIsANumber", "{'fortran_order': 0}\n", kBad, 28,
               "npy header: \"0}\" where the order belongs, True or False"},
        BadNpy{"ShapeIsANumber", with_shape("4"), kBad, 60,
               "npy header: \"4}\" where the shape begins, expected '('"},
        BadNpy{"ShapeIsABracketedNumber", with_shape("(4)"), kBad, 62,
               "npy header: \")}\" behind the only extent, expected ','"},
        BadNpy{"ExtentIsNegative", with_shape("(-4,)"), kBad, 61,
               "npy header: \"-4,)}\" where an extent of the shape belongs"},
        BadNpy{"ExtentIsAText", with_shape("('4',)"), kBad, 61,
               "npy header: \"'4',)}\" where an extent of the shape belongs"},
        BadNpy{"ExtentIsTooLarge", with_shape("(" + kHuge + ",)"), kBad, 61,
               "npy header: an extent of the shape is above 9223372036854775807"},
        BadNpy{"ShapeDoesNotEnd", with_shape("(4, 1"), kBad, 65,
               "npy header: \"}\" where the shape ends, expected ')'"},
        BadNpy{"RankTooHigh", with_shape(ones(33)), kBad, 60,
               "npy header: shape has more than 32 extents"},
        BadNpy{"ShapeOverflows", with_shape("(4611686018427387904, 4)"), kBad, 10,
               "npy shape: dimension 1 is 4, room for 1"},
        BadNpy{"FewerData", with_shape("(5,)"), kBad, 66, "npy data: needs 5 bytes, 4 bytes left"},
        BadNpy{"MoreData", with_shape("(3,)"), kBad, 69, "1 bytes follow the npy data"},
        BadNpy{"Fortran", "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2)}\n", kNotOurs,
               no_offset, "npy array is in Fortran order, convert it with np.ascontiguousarray()"},
        BadNpy{"Objects", with_descr("'|O'"), kNotOurs, no_offset,
               "npy type \"|O\": object arrays contain pickled code and are never read"},
        BadNpy{"Record", with_descr("[('a', '<f4')]"), kNotOurs, no_offset,
               "npy type is a record, only plain numbers are read"},
        BadNpy{"Tuple", with_descr("('<f4', (2,))"), kNotOurs, no_offset,
               "npy type is a record, only plain numbers are read"},
        BadNpy{"NulForAKey", std::string("{\0}\n", 4), kBad, 11,
               "npy header: \"\\x00}\" where a key belongs"},
        BadNpy{"BigEndian", with_descr("'>f4'"), kNotOurs, no_offset,
               "npy type \">f4\": big-endian numbers are not read, convert with .astype() first"},
        BadNpy{"NoSuchType", with_descr("'<q4'"), kBad, 20,
               "npy type \"<q4\" is not one of numpy's"}),
    [](const auto& test) { return test.param.name; });

TEST(Npy, AcceptsTheMaximumRank) {
  const Words file = npy(with_shape(ones(32)), "x");

  const Result<ArrayRecord> array = read_npy(file.bytes());

  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_EQ(array->shape.size(), 32u);
}

TEST(Npy, RefusesAnotherMagic) {
  Words file;
  file.text("\x93NUMPX").u8(1).u8(0).u16(0);

  const Result<ArrayRecord> array = read_npy(file.bytes());

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::malformed);
  EXPECT_EQ(array.error().offset, 0u);
  EXPECT_EQ(array.error().message, "npy magic is wrong, expected 0x93 \"NUMPY\"");
}

TEST(Npy, RefusesAnotherVersion) {
  for (const auto& [major, minor] : {std::pair(0, 0), std::pair(4, 0), std::pair(1, 1)}) {
    Words file;
    file.text("\x93NUMPY").u8(std::uint8_t(major)).u8(std::uint8_t(minor)).u16(0);

    const Result<ArrayRecord> array = read_npy(file.bytes());

    ASSERT_FALSE(array.ok());
    EXPECT_EQ(array.error().code, Code::unsupported);
    EXPECT_EQ(array.error().offset, 6u);
    EXPECT_EQ(array.error().message,
              concat("npy version is ", major, ".", minor, ", known are 1.0, 2.0 and 3.0"));
  }
}

TEST(Npy, RejectsAHeaderThatIsTooLong) {
  Words file;
  file.text("\x93NUMPY").u8(2).u8(0).u32(65536).text(std::string(65536, ' '));

  const Result<ArrayRecord> array = read_npy(file.bytes());

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::malformed);
  EXPECT_EQ(array.error().offset, 8u);
  EXPECT_EQ(array.error().message, "npy header length is 65536, maximum is 65535");
}

TEST(Npy, RefusesEveryTruncation) {
  const std::vector<std::int64_t> shape = {2, 3};
  const std::vector<std::uint8_t> data(6);
  const auto whole = npy_bytes({1, 8, 1}, shape, data).value();

  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_npy(std::span(whole).first(size)).ok()) << "accepted the first " << size;
  }
}

TEST(Npy, WritesWhatNumpyWrites) {
  const std::vector<std::int64_t> shape = {360, 1, 64};
  // The first bytes of a member of tests/golden/data/tvm-0.12/digits_mlp.input.npz.
  Words golden;
  golden.text("\x93NUMPY").u8(1).u8(0).u16(0x76);
  golden.text("{'descr': '<f4', 'fortran_order': False, 'shape': (360, 1, 64), }");
  golden.text(std::string(52, ' ')).text("\n");

  const auto header = npy_header({2, 32, 1}, shape);

  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_THAT(*header, ::testing::ElementsAreArray(golden.bytes()));
}

TEST(Npy, ReadsBackWhatItWrites) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{}, {4}, {2, 2}, {0, 7}, {1, 2, 1, 2}}) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    const std::vector<std::uint8_t> data(static_cast<std::size_t>(count) * 8, 0x5a);

    const auto file = npy_bytes({0, 64, 1}, shape, data).value();
    const Result<ArrayRecord> array = read_npy(file);

    ASSERT_TRUE(array.ok()) << array.error().message;
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->data.size(), data.size());
    EXPECT_EQ(array->data_at % 64, 0u);
  }
}

TEST(Npy, RejectsDataThatDoNotMatchTheShape) {
  const std::vector<std::int64_t> shape = {2};
  const std::vector<std::uint8_t> data(7);

  const auto file = npy_bytes({2, 32, 1}, shape, data);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::invalid);
  EXPECT_EQ(file.error().message, "npy data are 7 bytes, dtype and shape require 8 bytes");
}

TEST(Npy, RejectsAShapeThatOverflows) {
  const std::vector<std::int64_t> shape = {INT64_MAX};

  const auto file = npy_bytes({2, 32, 1}, shape, {});

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::invalid);
  EXPECT_EQ(file.error().message,
            "npy shape: dimension 0 is 9223372036854775807, room for 2305843009213693951");
}

TEST(Npy, RejectsARankThatItWouldNotRead) {
  const std::vector<std::int64_t> shape(33, 1);

  const auto file = npy_header({2, 32, 1}, shape);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::invalid);
  EXPECT_EQ(file.error().message, "npy shape has 33 extents, maximum is 32");
}

TEST(NpyDtype, RoundTrips) {
  for (const std::string_view text :
       {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
        "float32", "float64", "complex64", "complex128"}) {
    const gantry_dtype dtype = parse_dtype(text).value();

    const auto descr = descr_of_dtype(dtype);

    ASSERT_TRUE(descr.ok()) << text;
    EXPECT_TRUE(same_dtype(dtype_of_descr(*descr).value(), dtype)) << *descr;
  }
}

TEST(NpyDtype, WritesBothBooleansAlike) {
  EXPECT_EQ(*descr_of_dtype(parse_dtype("bool").value()), "|b1");
  EXPECT_EQ(*descr_of_dtype(parse_dtype("bool8").value()), "|b1");
}

TEST(NpyDtype, HasNoNameForTypesThatNumpyDoesNotHave) {
  for (const std::string_view text : {"bfloat16", "float8_e4m3fn", "int4", "handle", "float32x4"}) {
    const auto descr = descr_of_dtype(parse_dtype(text).value());

    ASSERT_FALSE(descr.ok());
    EXPECT_EQ(descr.error().code, Code::unsupported);
    EXPECT_EQ(descr.error().message, concat("npy files have no type for ", text));
  }
}

struct BadDescr {
  const char* name;
  const char* descr;
  Code code;
  const char* message;
};

class NpyDtypeRefuses : public ::testing::TestWithParam<BadDescr> {};

TEST_P(NpyDtypeRefuses, WithAdvice) {
  const auto dtype = dtype_of_descr(GetParam().descr);

  ASSERT_FALSE(dtype.ok());
  EXPECT_EQ(dtype.error().code, GetParam().code);
  EXPECT_EQ(dtype.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Descrs, NpyDtypeRefuses,
    ::testing::Values(
        BadDescr{"Objects", "|O8", kNotOurs,
                 "npy type \"|O8\": object arrays contain pickled code and are never read"},
        BadDescr{"Bytes", "|S3", kNotOurs, "npy type \"|S3\": texts are not numbers"},
        BadDescr{"Unicode", "<U3", kNotOurs, "npy type \"<U3\": texts are not numbers"},
        BadDescr{"ZeroTerminatedBytes", "|a3", kNotOurs, "npy type \"|a3\": texts are not numbers"},
        BadDescr{"Durations", "<m8[ns]", kNotOurs,
                 "npy type \"<m8[ns]\": dates and times are not read, use .view('<i8')"},
        BadDescr{"LongDoubleComplex", "<c32", kNotOurs,
                 "npy type \"<c32\": long double differs between machines"},
        BadDescr{"Dates", "<M8[ns]", kNotOurs,
                 "npy type \"<M8[ns]\": dates and times are not read, use .view('<i8')"},
        BadDescr{"Raw", "|V2", kNotOurs,
                 "npy type \"|V2\": raw bytes have no type, use .view() with one first"},
        BadDescr{"LongDouble", "<f16", kNotOurs,
                 "npy type \"<f16\": long double differs between machines"},
        BadDescr{"Empty", "", kBad, "npy type \"\" is not one of numpy's"},
        BadDescr{"NoOrder", "f4", kBad, "npy type \"f4\" is not one of numpy's"},
        BadDescr{"NativeOrder", "=f4", kBad, "npy type \"=f4\" is not one of numpy's"},
        BadDescr{"OddWidth", "<f3", kBad, "npy type \"<f3\" is not one of numpy's"}),
    [](const auto& test) { return test.param.name; });

TEST(Npy, AcceptsTheLongestHeader) {
  const std::string fields = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
  const Words file = npy(fields + std::string(65534 - fields.size(), ' ') + "\n", "x");

  const Result<ArrayRecord> array = read_npy(file.bytes());

  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_EQ(array->data_at, 10u + 65535);
}

TEST(Npy, WritesTheMaximumRank) {
  const std::vector<std::int64_t> shape(32, 1);

  EXPECT_TRUE(npy_header({2, 32, 1}, shape).ok());
}

}  // namespace
}  // namespace gantry
