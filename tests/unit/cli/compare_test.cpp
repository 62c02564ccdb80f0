// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/compare.hpp"
#include "tools/gantry/common/element_value.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gantry::cli {
namespace {

template <class T>
struct Array {
  std::vector<T> data;
  ArrayView view;

  Array(std::string_view dtype, std::vector<std::int64_t> shape, std::vector<T> values,
        std::string name = "output")
      : data(std::move(values)),
        view{std::move(name), parse_dtype(dtype).value(), std::move(shape),
             std::span(reinterpret_cast<const std::uint8_t*>(data.data()),
                       data.size() * sizeof(T))} {}
};
using Floats = Array<float>;

std::string difference(const ArrayView& found, const ArrayView& expected,
                       Tolerance tolerance = {}) {
  const Status status = compare(found, expected, tolerance);
  if (status.ok()) return "";
  EXPECT_EQ(status.error().reason, "DIFFERENT");
  return status.error().message;
}

TEST(Compare, AcceptsEqualArrays) {
  const Floats a("float32", {2, 2}, {1, 2, 3, 4});

  EXPECT_EQ(difference(a.view, a.view), "");
}

TEST(Compare, ReportsTheFirstAndTheLargestDifference) {
  const Floats found("float32", {2, 3}, {1, 2, 3, 4.5F, 5, 12});
  const Floats expected("float32", {2, 3}, {1, 2, 3, 4, 5, 8});

  EXPECT_EQ(
      difference(found.view, expected.view),
      "\"output\" differs at [1, 0]: found 4.5, expected 4; 2 of 6 elements differ, by at most "
      "4 absolute and 0.5 relative");
}

// The first element of a byte is in its lowest bits; what is behind the last one does not count.
TEST(Compare, ReadsElementsBelowAByte) {
  const Array<std::uint8_t> found("int4", {3}, {0x21, 0xAF}), expected("int4", {3}, {0xF1, 0x0F});
  const Array<std::uint8_t> same("int4", {3}, {0xF1, 0x7F});

  EXPECT_EQ(difference(found.view, expected.view),
            "\"output\" differs at [1]: found 2, expected -1; 1 of 3 elements differ, by at most 3 "
            "absolute and 3 relative");
  EXPECT_EQ(difference(same.view, expected.view), "");
}

// Of 12 bits: element 1 begins within a byte and ends with one.
TEST(ElementAt, CopiesTheBitsOfAnElementWithLanes) {
  const std::uint8_t bytes[] = {0x21, 0x43, 0x65};
  std::vector<std::uint8_t> room;

  const std::uint8_t* const second = element_at(bytes, {0, 4, 3}, 1, room);

  EXPECT_EQ(second[0], 0x54);
  EXPECT_EQ(second[1], 0x06);
  EXPECT_EQ(element_at(bytes, {1, 8, 1}, 2, room), bytes + 2) << "no copy";
}

TEST(Compare, AcceptsDifferencesUpToTheTolerance) {
  const Floats expected("float32", {2}, {100, 0});
  const Floats near("float32", {2}, {101, 0});
  const Floats far("float32", {2}, {100, 0.5F});

  EXPECT_EQ(difference(near.view, expected.view, {.rtol = 0.01}), "");
  EXPECT_EQ(difference(near.view, expected.view, {.atol = 1}), "");
  EXPECT_NE(difference(near.view, expected.view, {.rtol = 0.0099}), "");
  EXPECT_EQ(
      difference(far.view, expected.view, {.rtol = 0.01}),
      "\"output\" differs at [1]: found 0.5, expected 0; 1 of 2 elements differ, by at most 0.5 "
      "absolute and inf relative (rtol 0.01, atol 0)");
}

TEST(Compare, AppliesRtolToTheExpectedValue) {
  const Floats small("float32", {1}, {1});
  const Floats large("float32", {1}, {2});

  EXPECT_EQ(difference(small.view, large.view, {.rtol = 0.5}), "");
  EXPECT_NE(difference(large.view, small.view, {.rtol = 0.5}), "");
}

TEST(Compare, IsBitExactWithoutATolerance) {
  const Floats zero("float32", {1}, {0.0F});
  const Floats minus_zero("float32", {1}, {-0.0F});

  EXPECT_NE(difference(minus_zero.view, zero.view), "");
  EXPECT_EQ(difference(minus_zero.view, zero.view, {.atol = 1e-9}), "");
}

TEST(Compare, AcceptsNanOnlyWithTheSameBits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Floats found("float32", {2}, {nan, 1});
  const Floats number("float32", {2}, {2, 1});

  EXPECT_EQ(difference(found.view, found.view, {.rtol = 1}), "");
  EXPECT_EQ(
      difference(found.view, number.view, {.atol = 100}),
      "\"output\" differs at [0]: found nan, expected 2; 1 of 2 elements differ, by at most nan "
      "absolute and nan relative (rtol 0, atol 100)");
}

TEST(Compare, DoesNotRoundLargeIntegers) {
  const Array<std::int64_t> found("int64", {1}, {(std::int64_t{1} << 53) + 1});
  const Array<std::int64_t> expected("int64", {1}, {std::int64_t{1} << 53});

  EXPECT_EQ(difference(found.view, expected.view),
            "\"output\" differs at [0]: found 9007199254740993, expected 9007199254740992; 1 of 1 "
            "elements differ, by at most 1 absolute and 1.11e-16 relative");
  EXPECT_NE(difference(found.view, expected.view, {.atol = 0.5}), "");
}

TEST(Compare, RejectsAnotherTypeOrShape) {
  const Floats a("float32", {2}, {1, 2});
  const Floats column("float32", {2, 1}, {1, 2});
  const Array<std::int32_t> integers("int32", {2}, {1, 2});

  EXPECT_EQ(difference(column.view, a.view), "\"output\" is float32[2, 1], expected float32[2]");
  EXPECT_EQ(difference(integers.view, a.view), "\"output\" is int32[2], expected float32[2]");
}

TEST(Compare, ReportsBytesOfTypesWithoutAReader) {
  const Array<std::uint8_t> found("float8_e4m3fn", {2}, {0x38, 0x40});
  const Array<std::uint8_t> expected("float8_e4m3fn", {2}, {0x38, 0x41});

  EXPECT_EQ(
      difference(found.view, expected.view),
      "\"output\" differs at [1]: found bytes 0x40, expected bytes 0x41; 1 of 2 elements differ");
}

TEST(Compare, RejectsAToleranceForTypesWithoutAReader) {
  const Array<std::uint8_t> array("float8_e4m3fn", {1}, {0x38});

  const Status status = compare(array.view, array.view, {.rtol = 0.1});

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::unsupported);
  EXPECT_EQ(status.error().message,
            "\"output\" is float8_e4m3fn, which cannot be compared with a tolerance");
}

TEST(CompareAll, MatchesByNameInAnyOrder) {
  const Floats a("float32", {1}, {1}, "a");
  const Floats b("float32", {1}, {2}, "b");
  const ArrayView found[] = {a.view, b.view};
  const ArrayView expected[] = {b.view, a.view};

  EXPECT_TRUE(compare_all(found, expected, {}).ok());
}

TEST(CompareAll, ComparesAnArrayWithoutANameWithTheOnlyOne) {
  const Floats a("float32", {1}, {1}, "a"), b("float32", {1}, {2}, "b");
  const Floats same("float32", {1}, {1}, ""), other("float32", {1}, {2}, "");
  const ArrayView one[] = {a.view};
  const ArrayView both[] = {a.view, b.view};

  EXPECT_TRUE(compare_all(one, {{same.view}}, {}).ok());
  EXPECT_THAT(std::string(compare_all(one, {{other.view}}, {}).error().message.text()),
              ::testing::StartsWith("\"a\" differs at [0]: found 1, expected 2"));
  EXPECT_EQ(compare_all(both, {{same.view}}, {}).error().message,
            "the expected array has no name, as a .npy file has none, outputs are: \"a\", \"b\"");
}

TEST(CompareAll, RejectsMissingAndAdditionalMembers) {
  const Floats a("float32", {1}, {1}, "a");
  const Floats b("float32", {1}, {2}, "b");
  const ArrayView one[] = {a.view};
  const ArrayView both[] = {a.view, b.view};

  EXPECT_EQ(compare_all(one, both, {}).error().message,
            "\"b\" is expected and missing, found: \"a\"");
  EXPECT_EQ(compare_all(both, one, {}).error().message, "\"b\" is not expected, expected: \"a\"");
}

struct ElementCase {
  std::string dtype;
  std::uint64_t bits;
  std::string text;
};

class ElementText : public ::testing::TestWithParam<ElementCase> {};

TEST_P(ElementText, IsTheValueInItsType) {
  const std::uint64_t bits = GetParam().bits;
  EXPECT_EQ(element_text(reinterpret_cast<const std::uint8_t*>(&bits),
                         parse_dtype(GetParam().dtype).value()),
            GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Types, ElementText,
    ::testing::Values(ElementCase{"int8", 0x80, "-128"}, ElementCase{"uint8", 0x80, "128"},
                      ElementCase{"int16", 0x8000, "-32768"},
                      ElementCase{"uint16", 0x8000, "32768"},
                      ElementCase{"int32", 0x80000000, "-2147483648"},
                      ElementCase{"uint32", 0x80000000, "2147483648"},
                      ElementCase{"int64", std::uint64_t{1} << 63, "-9223372036854775808"},
                      ElementCase{"uint64", UINT64_MAX, "18446744073709551615"},
                      ElementCase{"bool", 1, "1"}, ElementCase{"float16", 0x3555, "0.33325195"},
                      ElementCase{"float16", 0x0001, "5.9604645e-08"},
                      ElementCase{"float16", 0xfc00, "-inf"},
                      ElementCase{"float16", 0x7bff, "65504"}, ElementCase{"bfloat16", 0x3f80, "1"},
                      ElementCase{"float32", 0x3dcccccd, "0.1"},
                      ElementCase{"float64", 0x3fb999999999999a, "0.1"}));

TEST(LargestDifference, IsRelativeToTheExpectedElement) {
  const Floats expected("float32", {3}, {1, -4, 0});

  EXPECT_EQ(largest_difference(expected.view, expected.view), 0);
  EXPECT_EQ(largest_difference(Floats("float32", {3}, {1, -5, 0}).view, expected.view), 0.25);
  EXPECT_NEAR(*largest_difference(Floats("float32", {3}, {1, -4, 1e-7f}).view, expected.view), 0.1,
              1e-6);
  EXPECT_EQ(largest_difference(Floats("float32", {3}, {1, NAN, 0}).view, expected.view), HUGE_VAL);
}

TEST(LargestDifference, IsUnknownForOtherTypesAndShapes) {
  const Floats floats("float32", {2}, {1, 2});

  EXPECT_EQ(largest_difference(floats.view, Floats("float32", {1, 2}, {1, 2}).view), std::nullopt);
  EXPECT_EQ(largest_difference(floats.view, Array<std::int32_t>("int32", {2}, {1, 2}).view),
            std::nullopt);
}

}  // namespace
}  // namespace gantry::cli
