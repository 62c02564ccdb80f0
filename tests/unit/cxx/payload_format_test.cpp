// SPDX-License-Identifier: Apache-2.0
#include <gantry/payload_format.hpp>

#include <gtest/gtest.h>

#include <string>

namespace gantry {
namespace {

TEST(PayloadFormat, HasOneToSixteenPrintableCharacters) {
  for (const std::string name : {"c", "ptx", "a format", "0123456789abcdef"})
    EXPECT_TRUE(is_format(name)) << name;
}

TEST(PayloadFormat, IsNothingElse) {
  for (const std::string name : {"", "0123456789abcdefg", "pt\x7f", "pt\x1f", "pt\xc7"})
    EXPECT_FALSE(is_format(name)) << name;
  EXPECT_FALSE(is_format(std::string_view("\0tx", 3)));
}

}  // namespace
}  // namespace gantry
