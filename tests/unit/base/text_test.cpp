// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(Pad, AppendsBlanksUpToTheWidth) {
  EXPECT_EQ(pad("ab", 4), "ab  ");
  EXPECT_EQ(pad("abcde", 4), "abcde");
}

TEST(Indent, AppliesToAllLinesButTheFirst) {
  EXPECT_EQ(indent(Message::lines("a\nb\nc"), "  "), "a\n    b\n    c");
}

TEST(Upper, ChangesAsciiLettersOnly) { EXPECT_EQ(upper("`azAZ{-1\xe4"), "`AZAZ{-1\xe4"); }

TEST(IsIdentifierCharacter, IsTrueForLettersDigitsAndTheUnderscore) {
  for (const char c : std::string_view("azAZ09_")) EXPECT_TRUE(is_identifier_character(c)) << c;
  for (const char c : std::string_view("`{@[/: -\xe4")) {
    EXPECT_FALSE(is_identifier_character(c)) << c;
  }
}

TEST(IsCIdentifier, IsTrueForNamesThatBeginWithNoDigit) {
  for (const char* text : {"a", "_0", "Kernel_1"}) EXPECT_TRUE(is_c_identifier(text)) << text;
  for (const char* text : {"", "0a", "a-b", "a b", "\xc3\xa4"}) {
    EXPECT_FALSE(is_c_identifier(text)) << text;
  }
}

TEST(ParseNumber, AcceptsTheWholeTextOnly) {
  EXPECT_EQ(parse_number<std::int64_t>("-12"), -12);
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  for (const char* text : {"", "1x", " 1", "9223372036854775808"}) {
    EXPECT_EQ(parse_number<std::int64_t>(text), std::nullopt) << text;
  }
}

TEST(AsText, ContainsEveryByte) {
  constexpr std::uint8_t bytes[] = {'a', 0, 'b'};

  EXPECT_EQ(as_text(bytes), std::string_view("a\0b", 3));
}

}  // namespace
}  // namespace gantry
