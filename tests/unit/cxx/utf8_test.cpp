// SPDX-License-Identifier: Apache-2.0
#include <gantry/utf8.hpp>

#include <gtest/gtest.h>

namespace gantry {
namespace {

using namespace std::string_view_literals;

struct Utf8Case {
  std::string_view text;
  bool valid;
};

class Utf8 : public ::testing::TestWithParam<Utf8Case> {};

TEST_P(Utf8, IsValidatedBySequence) { EXPECT_EQ(is_utf8(GetParam().text), GetParam().valid); }

INSTANTIATE_TEST_SUITE_P(
    Forms, Utf8,
    ::testing::Values(Utf8Case{"", true}, Utf8Case{"a\0b"sv, true}, Utf8Case{"\xc2\x80", true},
                      Utf8Case{"\xe2\x82\xac", true}, Utf8Case{"\xf0\x9f\x98\x80", true},
                      // a tail alone
                      Utf8Case{"\x80", false},
                      // overlong
                      Utf8Case{"\xc1\x81", false},
                      // overlong
                      Utf8Case{"\xe0\x9f\xbf", false},
                      // overlong
                      Utf8Case{"\xf0\x8f\xbf\xbf", false},
                      // surrogate
                      Utf8Case{"\xed\xa0\x80", false},
                      // past U+10FFFF
                      Utf8Case{"\xf4\x90\x80\x80", false},
                      // cut
                      Utf8Case{"\xf5\x80\x80\x80", false}, Utf8Case{"\xe2\x82", false},
                      // no tail
                      Utf8Case{"\xe2\x28\xa1", false}));

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

TEST(AppendEscaped, KeepsPrintableCharacters) {
  // a letter, two ideographs, an emoji, a no-break space, and neighbours of escaped characters
  for (const std::string_view text :
       {"~ a\"\\", "caf\xc3\xa9", "\xe6\xa8\xa1\xe5\x9e\x8b", "\xf0\x9f\x98\x80", "\xc2\xa0",
        "\xe2\x80\x8d", "\xe2\x80\x90", "\xe2\x80\xa7", "\xe2\x80\xaf", "\xe2\x81\xa5",
        "\xe2\x81\xaa", "\xd8\x9b", "\xd8\x9d"}) {
    EXPECT_EQ(escaped(text), text);
  }
}

TEST(AppendEscaped, EscapesControlCharacters) {
  EXPECT_EQ(escaped({"\0\t\n\r\x1f\x7f", 6}), "\\x00\\x09\\x0a\\x0d\\x1f\\x7f");
  EXPECT_EQ(escaped("\xc2\x80\xc2\x9f"), "\\xc2\\x80\\xc2\\x9f");
  EXPECT_EQ(escaped("\xe2\x80\xa8\xe2\x80\xa9"), "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
}

// Each changes the order in which the characters after it are displayed.
TEST(AppendEscaped, EscapesMarksOfBidirectionalText) {
  for (const std::uint32_t mark : {0x061cu, 0x200eu, 0x200fu, 0x202au, 0x202bu, 0x202cu, 0x202du,
                                   0x202eu, 0x2066u, 0x2067u, 0x2068u, 0x2069u}) {
    std::string text;
    append_utf8(text, mark);
    EXPECT_EQ(escaped("a" + text + "b").substr(0, 3), "a\\x") << mark;
  }
}

TEST(AppendEscaped, EscapesInvalidBytes) {
  EXPECT_EQ(escaped("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(escaped("\xe2\x82"
                    "a"),
            "\\xe2\\x82"
            "a");
}

TEST(AppendEscaped, DoesNotChangeAnEscapedText) {
  const std::string once = escaped("a\n\xff\xe2\x80\xae\\");
  EXPECT_EQ(escaped(once), once);
}

}  // namespace
}  // namespace gantry
