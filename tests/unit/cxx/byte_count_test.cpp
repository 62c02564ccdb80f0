// SPDX-License-Identifier: Apache-2.0
#include <gantry/byte_count.hpp>
#include <gantry/concat.hpp>

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(ByteCount, IsExactBelowTenKib) {
  EXPECT_EQ(concat("needs ", ByteCount(0)), "needs 0 bytes");
  EXPECT_EQ(concat("needs ", ByteCount(10239)), "needs 10239 bytes");
}

TEST(ByteCount, IsRoundedAndExactFromTenKib) {
  EXPECT_EQ(concat(ByteCount(10240), "!"), "10.0 KiB (10240 bytes)!");
  EXPECT_EQ(std::string_view(ByteCount(536870912)), "512.0 MiB (536870912 bytes)");
  EXPECT_EQ(std::string_view(ByteCount((1 << 20) - 1)), "1.0 MiB (1048575 bytes)");
}

TEST(ByteCount, HasRoomForTheLargest) {
  EXPECT_EQ(std::string_view(ByteCount(UINT64_MAX)), "16.0 EiB (18446744073709551615 bytes)");
}

}  // namespace
}  // namespace gantry
