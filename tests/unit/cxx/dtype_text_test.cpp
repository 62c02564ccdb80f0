// SPDX-License-Identifier: Apache-2.0
#include <gantry/dtype_text.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gantry {
namespace {

struct Named {
  std::string text;
  gantry_dtype dtype;
};
void PrintTo(const Named& named, std::ostream* out) { *out << named.text; }

class DtypeText : public ::testing::TestWithParam<Named> {};

TEST_P(DtypeText, NamesOneRecordBothWays) {
  const Named& named = GetParam();

  const Result<gantry_dtype> dtype = parse_dtype(named.text);

  ASSERT_TRUE(dtype.ok()) << dtype.error().message;
  EXPECT_EQ(dtype->code, named.dtype.code);
  EXPECT_EQ(dtype->bits, named.dtype.bits);
  EXPECT_EQ(dtype->lanes, named.dtype.lanes);
  EXPECT_EQ(dtype_text(named.dtype), named.text);
}

INSTANTIATE_TEST_SUITE_P(
    All, DtypeText,
    ::testing::Values(Named{"bool", {1, 1, 1}}, Named{"boolx4", {1, 1, 4}},
                      Named{"bool8", {6, 8, 1}}, Named{"int1", {0, 1, 1}}, Named{"int4", {0, 4, 1}},
                      Named{"int8", {0, 8, 1}}, Named{"int64", {0, 64, 1}},
                      Named{"int128", {0, 128, 1}}, Named{"uint4", {1, 4, 1}},
                      Named{"uint8", {1, 8, 1}}, Named{"uint32x65535", {1, 32, 65535}},
                      Named{"float8", {2, 8, 1}}, Named{"float16", {2, 16, 1}},
                      Named{"float32", {2, 32, 1}}, Named{"float32x4", {2, 32, 4}},
                      Named{"float64", {2, 64, 1}}, Named{"handle", {3, 64, 1}},
                      Named{"bfloat16", {4, 16, 1}}, Named{"complex64", {5, 64, 1}},
                      Named{"float8_e3m4", {7, 8, 1}}, Named{"float8_e4m3", {8, 8, 1}},
                      Named{"float8_e4m3b11fnuz", {9, 8, 1}}, Named{"float8_e4m3fn", {10, 8, 1}},
                      Named{"float8_e4m3fnx2", {10, 8, 2}}, Named{"float8_e4m3fnuz", {11, 8, 1}},
                      Named{"float8_e5m2", {12, 8, 1}}, Named{"float8_e5m2fnuz", {13, 8, 1}},
                      Named{"float8_e8m0fnu", {14, 8, 1}}, Named{"float6_e2m3fn", {15, 6, 1}},
                      Named{"float6_e3m2fn", {16, 6, 1}}, Named{"float4_e2m1fn", {17, 4, 1}}),
    [](const auto& test) { return test.param.text; });

// Two names of one type: dtype_text() returns the second.
TEST(DtypeText, AcceptsTheSpellingsOfOlderCompilers) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"uint1", "bool"},
      {"uint1x8", "boolx8"},
      {"e4m3_float8", "float8_e4m3fn"},
      {"e5m2_float8x4", "float8_e5m2x4"},
      {"e2m1_float4", "float4_e2m1fn"},
  };
  for (const auto& [old, canonical] : pairs) {
    const Result<gantry_dtype> dtype = parse_dtype(old);
    ASSERT_TRUE(dtype.ok()) << old << ": " << dtype.error().message;
    EXPECT_EQ(dtype_text(*dtype), canonical);
  }
}

TEST(DtypeText, PrintsRecordsThatNoTextCanName) {
  EXPECT_EQ(dtype_text({200, 7, 3}), "code200_7x3");
  EXPECT_EQ(dtype_text({0, 7, 1}), "code0_7x1");
  EXPECT_EQ(dtype_text({3, 32, 1}), "code3_32x1");
}

TEST(TypeText, ListsExtentsInBrackets) {
  EXPECT_EQ(type_text({2, 32, 1}, std::vector<std::int64_t>{1, 64}), "float32[1, 64]");
  EXPECT_EQ(type_text({0, 8, 1}, {}), "int8[]");
}

struct BadText {
  std::string name;
  std::string text;
  Code code;
  std::string message;
};
void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.text; }

class DtypeTextRefuses : public ::testing::TestWithParam<BadText> {};

TEST_P(DtypeTextRefuses, WithTheReason) {
  const BadText& bad = GetParam();

  const Result<gantry_dtype> dtype = parse_dtype(bad.text);

  ASSERT_FALSE(dtype.ok());
  EXPECT_EQ(dtype.error().code, bad.code);
  EXPECT_EQ(dtype.error().offset, no_offset);
  EXPECT_EQ(dtype.error().reason, "DTYPE");
  EXPECT_EQ(dtype.error().message, bad.message);
}

const std::string unknown =
    ": no such type, known are int, uint, float, bfloat, complex, bool, handle and the names of "
    "small floats";

INSTANTIATE_TEST_SUITE_P(
    All, DtypeTextRefuses,
    ::testing::Values(
        BadText{"Nothing", "", Code::malformed, "dtype \"\"" + unknown},
        BadText{"OtherBase", "string", Code::malformed, "dtype \"string\"" + unknown},
        BadText{"SpaceBefore", " int8", Code::malformed, "dtype \" int8\"" + unknown},
        BadText{"NoWidth", "int", Code::malformed, "dtype \"int\": width is not supported for int"},
        BadText{"OddWidth", "int7", Code::malformed,
                "dtype \"int7\": width is not supported for int"},
        BadText{"NotAPowerOfTwo", "float24", Code::malformed,
                "dtype \"float24\": width is not supported for float"},
        BadText{"FourBitFloat", "float4", Code::malformed,
                "dtype \"float4\": width is not supported for float"},
        BadText{"EightBitBfloat", "bfloat8", Code::malformed,
                "dtype \"bfloat8\": width is not supported for bfloat"},
        BadText{"SixteenBitComplex", "complex16", Code::malformed,
                "dtype \"complex16\": width is not supported for complex"},
        BadText{"WidthAboveAll", "int256", Code::malformed,
                "dtype \"int256\": width is not supported for int"},
        BadText{"WidthPastUint32", "int4294967304", Code::malformed,
                "dtype \"int4294967304\": width is not supported for int"},
        BadText{"WidthWithZeroBefore", "int08", Code::malformed,
                "dtype \"int08\": width is not supported for int"},
        BadText{"WidthWithSign", "int+8", Code::malformed,
                "dtype \"int+8\": width is not supported for int"},
        BadText{"NoLanes", "int8x", Code::malformed,
                "dtype \"int8x\": lane count is not a number from 1 to 65535"},
        BadText{"ZeroLanes", "int8x0", Code::malformed,
                "dtype \"int8x0\": lane count is not a number from 1 to 65535"},
        BadText{"LanesPastUint16", "int8x65536", Code::malformed,
                "dtype \"int8x65536\": lane count is not a number from 1 to 65535"},
        BadText{"MoreAfterIt", "int8y", Code::malformed, "dtype \"int8y\": \"y\" follows the type"},
        BadText{"MoreAfterLanes", "int8x4 ", Code::malformed,
                "dtype \"int8x4 \": \" \" follows the type"},
        BadText{"HandleWithWidth", "handle64", Code::malformed,
                "dtype \"handle64\": \"64\" follows the type"},
        BadText{"Escapes", "int8\x1b[31m", Code::malformed,
                "dtype \"int8\\x1b[31m\": \"\\x1b[31m\" follows the type"},
        BadText{"Custom", "custom[posit]32", Code::unsupported,
                "dtype \"custom[posit]32\": custom types need the compiler's own library"},
        BadText{"ScalableVector", "int8xvscalex4", Code::unsupported,
                "dtype \"int8xvscalex4\": vectors of unknown length are not supported"}),
    [](const auto& test) { return test.param.name; });

TEST(ElementBytes, CountsAllLanesAndRoundsUp) {
  EXPECT_EQ(element_bytes({2, 32, 1}), 4u);
  EXPECT_EQ(element_bytes({2, 32, 4}), 16u);
  EXPECT_EQ(element_bytes({1, 1, 1}), 1u);
  EXPECT_EQ(element_bytes({0, 4, 3}), 2u);
  EXPECT_EQ(element_bytes({0, 255, 65535}), 2088929u);
}

TEST(TensorBytes, MultipliesTheDimensions) {
  const std::vector<std::int64_t> shape = {2, 3, 5};
  EXPECT_EQ(tensor_bytes(shape, {2, 32, 1}).value(), 120u);
  EXPECT_EQ(tensor_bytes({}, {2, 32, 1}).value(), 4u);
  EXPECT_EQ(tensor_bytes({{2, 0, 5}}, {2, 32, 1}).value(), 0u);
}

// As DLPack and tensor.h have it; one bit of uint1 has a byte, as TVM stores booleans.
TEST(TensorBytes, PacksElementsBelowAByte) {
  constexpr gantry_dtype int4{0, 4, 1}, uint1{1, 1, 1}, int1{0, 1, 1}, int4x3{0, 4, 3};
  EXPECT_EQ(tensor_bytes({{5}}, int4).value(), 3u);
  EXPECT_EQ(tensor_bytes({{2, 4}}, int4).value(), 4u);
  EXPECT_EQ(tensor_bytes({}, int4).value(), 1u);
  EXPECT_EQ(tensor_bytes({{0, 5}}, int4).value(), 0u);
  EXPECT_EQ(tensor_bytes({{9}}, uint1).value(), 9u);
  EXPECT_EQ(tensor_bytes({{9}}, int1).value(), 2u);
  EXPECT_EQ(tensor_bytes({{3}}, int4x3).value(), 5u);
  EXPECT_EQ(tensor_bytes({{3}}, {17, 4, 1}).value(), 2u);
  EXPECT_EQ(tensor_bytes({{4}}, {15, 6, 1}).value(), 3u);

  EXPECT_EQ(tensor_bytes({{INT64_MAX / 4}}, int4).value(),
            (std::uint64_t{INT64_MAX} / 4 * 4 + 7) / 8);
  EXPECT_FALSE(tensor_bytes({{INT64_MAX / 4 + 1}}, int4).ok());
  EXPECT_FALSE(tensor_bytes({{std::int64_t{1} << 61, 2}}, int4).ok());
}

TEST(TensorBytes, RefusesANegativeDimension) {
  const Result<std::uint64_t> bytes = tensor_bytes({{4, -1}}, {2, 32, 1});

  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, Code::malformed);
  EXPECT_EQ(bytes.error().reason, "SHAPE");
  EXPECT_EQ(bytes.error().message, "dimension 1 is -1, minimum is 0");
}

TEST(TensorBytes, EndsBelowTwoToThe63) {
  EXPECT_EQ(tensor_bytes({{INT64_MAX}}, {0, 8, 1}).value(), std::uint64_t{INT64_MAX});

  const Result<std::uint64_t> bytes = tensor_bytes({{std::int64_t{1} << 61, 2}}, {0, 16, 1});

  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, Code::malformed);
  EXPECT_EQ(bytes.error().message, "dimension 1 is 2, room for 1");
}

// Strides are products of dimensions too, so a dimension of 0 must not hide an overflow.
TEST(TensorBytes, RefusesAnOverflowBesideAZero) {
  EXPECT_FALSE(tensor_bytes({{0, INT64_MAX, 4}}, {0, 8, 1}).ok());
  EXPECT_FALSE(tensor_bytes({{INT64_MAX, 4, 0}}, {0, 8, 1}).ok());
  EXPECT_FALSE(tensor_bytes({{INT64_MAX, 4}}, {0, 0, 1}).ok());
}

}  // namespace
}  // namespace gantry
