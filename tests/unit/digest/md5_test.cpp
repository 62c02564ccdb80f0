// SPDX-License-Identifier: Apache-2.0
#include "core/base/digest/md5.hpp"

#include <gmock/gmock.h>

#include <string_view>
#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;

// source   RFC 1321, appendix A.5
TEST(Md5, MatchesTheStandard) {
  const auto sum = [](std::string_view text) {
    return hex_text(md5(std::vector<std::uint8_t>(text.begin(), text.end())));
  };

  EXPECT_EQ(sum(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(sum("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(sum("abcdefghijklmnopqrstuvwxyz"), "c3fcd3d76192e4007dfb496cca67e13b");
  EXPECT_EQ(sum("1234567890123456789012345678901234567890123456789012345678901234567890"
                "1234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

// Where the number of bits needs a block of its own.
// source   head -c N /dev/zero | md5sum
TEST(Md5, HasTheNumberOfBitsAtTheEnd) {
  const auto sum = [](std::size_t size) { return hex_text(md5(std::vector<std::uint8_t>(size))); };

  EXPECT_EQ(sum(55), "c9ea3314b91c9fd4e38f9432064fd1f2");
  EXPECT_EQ(sum(56), "e3c4dd21a9171fd39d208efa09bf7883");
  EXPECT_EQ(sum(63), "65cecfb980d72fde57d175d6ec1c3f64");
  EXPECT_EQ(sum(64), "3b5d3c7d207e37dceeedd301e35e2e58");
  EXPECT_EQ(sum(119), "8271cb2e6a546123b43096a2efce39d2");
  EXPECT_EQ(sum(120), "222f7d881ded1871724a1b9a1cb94247");
}

TEST(Md5, ReportsItsProgress) {
  std::vector<std::size_t> pieces;

  const Md5 sum = md5(std::vector<std::uint8_t>(md5_piece + 65),
                      [&](std::size_t size) { pieces.push_back(size); });

  EXPECT_THAT(pieces, ElementsAre(md5_piece, 64, 1));
  EXPECT_EQ(hex_text(sum), "57760bbe1fdc11dea4394b659668d7fb");
}

}  // namespace
}  // namespace gantry
