// SPDX-License-Identifier: Apache-2.0
#include "core/base/digest/digest.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::size_t> pieces_of(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::size_t> pieces;
  sha256(bytes, [&](std::size_t size) { pieces.push_back(size); });
  return pieces;
}

// source   FIPS 180-2, appendix B.1; the digest of the empty message is well known
TEST(Sha256, MatchesTheStandard) {
  const std::vector<std::uint8_t> abc{'a', 'b', 'c'};

  EXPECT_EQ(hex_text(sha256(abc)),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_text(sha256({})),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// Zeros, one byte more than two pieces.
// source   head -c 8388609 /dev/zero | sha256sum
TEST(Sha256, ContinuesOverPieces) {
  const std::vector<std::uint8_t> zeros(2 * digest_piece + 1);

  EXPECT_EQ(hex_text(sha256(zeros)),
            "4459f957d031a8b782dfee09d2c7070a4b5e6c33130a8f20ac35393fd97fc57a");
}

TEST(Sha256, ReportsItsProgress) {
  EXPECT_THAT(pieces_of(std::vector<std::uint8_t>(2 * digest_piece + 1)),
              ElementsAre(digest_piece, digest_piece, 1u));
  EXPECT_THAT(pieces_of({}), IsEmpty());
}

}  // namespace
}  // namespace gantry
