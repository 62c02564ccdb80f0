// SPDX-License-Identifier: Apache-2.0
#include <gantry/result.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

TEST(Code, HasTheNumbersOfTheAbiAndAName) {
  EXPECT_EQ(static_cast<gantry_code>(Code::ok), GANTRY_OK);
  EXPECT_EQ(static_cast<gantry_code>(Code::malformed), GANTRY_MALFORMED);
  EXPECT_EQ(static_cast<gantry_code>(Code::unsupported), GANTRY_UNSUPPORTED);
  EXPECT_EQ(static_cast<gantry_code>(Code::unavailable), GANTRY_UNAVAILABLE);
  EXPECT_EQ(static_cast<gantry_code>(Code::exhausted), GANTRY_EXHAUSTED);
  EXPECT_EQ(static_cast<gantry_code>(Code::invalid), GANTRY_INVALID);
  EXPECT_EQ(static_cast<gantry_code>(Code::not_found), GANTRY_NOT_FOUND);
  EXPECT_EQ(static_cast<gantry_code>(Code::cancelled), GANTRY_CANCELLED);
  EXPECT_EQ(static_cast<gantry_code>(Code::bug), GANTRY_BUG);
  EXPECT_EQ(static_cast<gantry_code>(Code::lost), GANTRY_LOST);

  EXPECT_EQ(name_of(Code::ok), "ok");
  EXPECT_EQ(name_of(Code::malformed), "malformed");
  EXPECT_EQ(name_of(Code::not_found), "not found");
  EXPECT_EQ(name_of(Code::bug), "bug");
  EXPECT_EQ(name_of(Code::lost), "lost");
  EXPECT_EQ(name_of(static_cast<Code>(10)), "unknown code");
  EXPECT_EQ(name_of(static_cast<Code>(-1)), "unknown code");
}

TEST(Concat, JoinsWordsNumbersAndAddresses) {
  EXPECT_EQ(concat("edge ", 3, '.', std::string("x"), std::string_view(" y"), ' ', Hex{0x1c40}, ' ',
                   true, ' ', false),
            "edge 3.x y 0x1c40 true false");
  EXPECT_EQ(concat(std::uint8_t{200}, ' ', std::int8_t{-3}, ' ', INT64_MIN, ' ', UINT64_MAX),
            "200 -3 -9223372036854775808 18446744073709551615");
  const char* const literal = "a";
  // up to its end, as text of C is
  const char array[] = "b\0c";
  EXPECT_EQ(concat(literal, array, 0.1f, ' ', 0.1, std::string("\0", 1)),
            std::string("ab0.1 0.1\0", 10));
  EXPECT_EQ(concat(0.5, ' ', Hex{0}, ' ', Hex{UINT64_MAX}), "0.5 0x0 0xffffffffffffffff");
}

TEST(Error, HasACodeAndAText) {
  EXPECT_EQ(malformed(3, "x").error().code, Code::malformed);
  EXPECT_EQ(malformed(3, "x").error().offset, 3u);
  EXPECT_EQ(unsupported("x").error().code, Code::unsupported);
  EXPECT_EQ(unavailable("x").error().code, Code::unavailable);
  EXPECT_EQ(exhausted("x").error().code, Code::exhausted);
  EXPECT_EQ(invalid("x").error().code, Code::invalid);
  EXPECT_EQ(not_found("x").error().code, Code::not_found);
  EXPECT_EQ(bug("x").error().code, Code::bug);
  EXPECT_EQ(fail(Code::cancelled, "x ", 1).error().message, "x 1");
  EXPECT_EQ(invalid("x").error().offset, no_offset);
}

TEST(Error, StoresReasonNativeCodeAndContext) {
  const Error error = malformed(8, "count 9, room for 4")
                          .with_reason("BLOB_TRUNCATED")
                          .native("errno", -5)
                          .at("while reading entry ", 2)
                          .at("of model.so");

  EXPECT_EQ(error.message, "count 9, room for 4\n  while reading entry 2\n  of model.so");
  EXPECT_EQ(error.reason, "BLOB_TRUNCATED");
  EXPECT_EQ(error.native_domain, "errno");
  EXPECT_EQ(error.native_code, -5);
  EXPECT_EQ(error.offset, 8u);
}

TEST(Failure, StoresReasonNativeCodeAndContext) {
  const std::string_view tag = "LONGER_THAN_A_SHORT_STRING";
  const Error error =
      malformed(8, "count 9").with_reason(tag).native("errno", -5).at("while reading entry ", 2);

  EXPECT_EQ(error.message, "count 9\n  while reading entry 2");
  EXPECT_EQ(error.reason, tag);
  EXPECT_EQ(error.native_domain, "errno");
  EXPECT_EQ(error.native_code, -5);
  EXPECT_EQ(error.offset, 8u);
}

TEST(Error, AcceptsContextInPlace) {
  Error error = invalid("x");
  error.at("in node ", 3);
  EXPECT_EQ(error.message, "x\n  in node 3");
}

TEST(Result, HoldsAValue) {
  Result<std::string> result = "abc";

  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, "abc");
  EXPECT_EQ(result->size(), 3u);
  result.value() += "d";
  EXPECT_EQ(std::as_const(result).value(), "abcd");
}

TEST(Result, HoldsAnError) {
  const Result<std::string> result = not_found("no such key");

  ASSERT_FALSE(result.ok());
  EXPECT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(result.error().code, Code::not_found);
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);

  const std::unique_ptr<int> value = std::move(result).value();

  EXPECT_EQ(*value, 7);
}

TEST(Result, CopiesItsErrorAndItsValue) {
  const Result<std::string> value = "abc", error = invalid("x");

  Result<std::string> one = value, other = error;
  one = error;
  other = value;

  EXPECT_EQ(*other, "abc");
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error().message, "x");
  EXPECT_EQ(error.error().message, "x");
}

TEST(Result, PassesItsErrorUnchanged) {
  Result<std::string> inner = invalid("x");
  const Error* const where = &inner.error();

  const Result<int> outer = std::move(inner).failure();

  ASSERT_FALSE(outer.ok());
  EXPECT_EQ(&outer.error(), where);
  // The error does not become a value.
  EXPECT_FALSE(inner.ok());
}

// The size that errors add to a Result.
TEST(Result, IsNoLargerThanItsValueAndAPointer) {
  static_assert(sizeof(Status) == sizeof(void*));
  static_assert(sizeof(Result<std::uint64_t>) == 2 * sizeof(void*));
  static_assert(sizeof(Result<std::string>) == sizeof(std::string) + sizeof(void*));
}

// A type that converts to the value converts to the result. An error stays an error.
TEST(Result, AcceptsTypesThatConvertToItsValue) {
  const Result<std::string> text = "abc";
  const Result<std::uint64_t> number = 7;
  const Result<std::vector<int>> list = std::vector<int>{1, 2};
  const Result<std::string> error = invalid("x");

  EXPECT_EQ(*text, "abc");
  EXPECT_EQ(*number, 7u);
  EXPECT_EQ(list->size(), 2u);
  EXPECT_FALSE(error.ok());
}

TEST(Status, IsOkUnlessItHoldsAnError) {
  Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(static_cast<bool>(status));

  status = exhausted("x");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::exhausted);
  EXPECT_EQ(std::move(status).error().message, "x");
}

Result<int> parse(int number) {
  if (number < 0) return malformed(4, "number is ", number);
  return number;
}

Result<std::string> twice(int number, int& went_on) {
  GANTRY_TRY(const int first, parse(number));
  GANTRY_TRY(const int second, parse(first));
  ++went_on;
  return std::to_string(first + second);
}

TEST(Try, DeclaresTheValueOrReturnsTheError) {
  int went_on = 0;

  EXPECT_EQ(*twice(3, went_on), "6");
  EXPECT_EQ(went_on, 1);

  const Result<std::string> failed = twice(-3, went_on);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().offset, 4u);
  EXPECT_EQ(failed.error().message, "number is -3");
  EXPECT_EQ(went_on, 1);
}

Status check_all(const std::vector<int>& numbers, int& seen) {
  for (const int number : numbers) {
    GANTRY_CHECK(parse(number));
    ++seen;
  }
  return {};
}

TEST(Check, ContinuesOrReturnsTheError) {
  int seen = 0;

  EXPECT_TRUE(check_all({1, 2}, seen).ok());
  EXPECT_EQ(seen, 2);

  const Status failed = check_all({1, -2, 3}, seen);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "number is -2");
  EXPECT_EQ(seen, 3);
}

// One expression that contains commas, evaluated once.
TEST(Try, AcceptsExpressionsWithCommas) {
  int calls = 0;
  const auto make = [&](int a, int b) -> Result<int> { return ++calls, a + b; };
  const auto body = [&]() -> Result<int> {
    GANTRY_TRY(const int sum, make(1, 2));
    return sum;
  };

  EXPECT_EQ(*body(), 3);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace gantry
