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

TEST(ShownUtf8, EscapesInvalidBytes) {
  EXPECT_EQ(shown_utf8("caf\xc3\xa9\n"), "caf\xc3\xa9\n");
  EXPECT_EQ(shown_utf8("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(shown_utf8("\xe2\x82"
                       "a"),
            "\\xe2\\x82"
            "a");
}

}  // namespace
}  // namespace gantry
