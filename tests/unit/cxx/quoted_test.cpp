// SPDX-License-Identifier: Apache-2.0
#include <gantry/quoted.hpp>

#include <gtest/gtest.h>

#include <iomanip>
#include <string>

namespace gantry {
namespace {

using namespace std::string_view_literals;

TEST(Quoted, LeavesPrintableTextAlone) { EXPECT_EQ(quoted("add_kernel0 ~"), "\"add_kernel0 ~\""); }

TEST(Quoted, LeavesPrintableUtf8Alone) {
  EXPECT_EQ(quoted("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
}

TEST(Quoted, TruncatesBetweenCharacters) {
  EXPECT_EQ(quoted("a\xe2\x82\xac", 4), "\"a\xe2\x82\xac\"");
  EXPECT_EQ(quoted("a\xe2\x82\xac", 3), "\"a...\" (4 bytes)");
  EXPECT_EQ(quoted("a\xe2\x82\xac", 2), "\"a...\" (4 bytes)");
  EXPECT_EQ(quoted("\x80\x80\x80\x80\x80", 4), R"("\x80\x80\x80\x80..." (5 bytes))");
}

TEST(Quoted, EscapesQuotesAndLineBreaks) { EXPECT_EQ(quoted("a\"b\\c\nd"), R"("a\"b\\c\nd")"); }

TEST(Quoted, ShowsOtherBytesAsNumbers) {
  EXPECT_EQ(quoted("\0\x1b\x7f\xff"sv), R"("\x00\x1b\x7f\xff")");
}

TEST(Quoted, TruncatesALongTextAndShowsItsLength) {
  EXPECT_EQ(quoted("abcd", 4), "\"abcd\"");
  EXPECT_EQ(quoted("abcde", 4), "\"abcd...\" (5 bytes)");
}

// Argument-dependent lookup for std::string finds std::quoted.
TEST(Quoted, IsNotAmbiguousWithTheStandardLibrary) {
  std::string text = "a\n";
  const std::string constant = text;

  EXPECT_EQ(quoted(text), R"("a\n")");
  EXPECT_EQ(quoted(constant, 1), R"("a..." (2 bytes))");
}

}  // namespace
}  // namespace gantry
