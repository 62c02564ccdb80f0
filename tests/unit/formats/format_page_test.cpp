// SPDX-License-Identifier: Apache-2.0
//
// Compares FORMAT.md with the code and the fixtures.
#include "core/formats/payload_layout.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace gantry {
namespace {

using ::testing::HasSubstr;

std::string page() {
  const auto bytes = test::read_file(test::golden("../../../core/formats/FORMAT.md"));
  return {bytes.begin(), bytes.end()};
}

bool is_hex_pair(std::string_view text) {
  return text.size() >= 2 && std::isxdigit(static_cast<unsigned char>(text[0])) != 0 &&
         std::isxdigit(static_cast<unsigned char>(text[1])) != 0;
}

// Returns the bytes of the listing below `heading`. Each line has an offset, two blanks, pairs of
// digits that are separated by one blank, two blanks, and a comment.
std::vector<std::uint8_t> listing(std::string_view heading) {
  const std::string text = page();
  const std::size_t first = text.find("```", text.find(heading)) + 4;
  std::istringstream lines(text.substr(first, text.find("```", first) - first));
  std::vector<std::uint8_t> bytes;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(std::strtoul(line.substr(0, 4).c_str(), nullptr, 16), bytes.size()) << line;
    for (std::string_view left = std::string_view(line).substr(6); is_hex_pair(left);) {
      const auto pair = test::from_hex(left.substr(0, 2));
      bytes.insert(bytes.end(), pair.begin(), pair.end());
      left.remove_prefix(left.size() > 2 && left[2] == ' ' ? 3 : 2);
    }
  }
  return bytes;
}

TEST(FormatPage, HasTheBytesOfTheFirstExample) {
  EXPECT_EQ(listing("## First example"), test::example_g3());
}

TEST(FormatPage, HasTheBytesOfTheSecondExample) {
  EXPECT_EQ(listing("## Second example"), test::example_g5());
}

TEST(FormatPage, NamesEveryBuiltInKey) {
  const std::string text = page();
  const PayloadLayouts layouts = PayloadLayouts::built_in();

  for (const std::string_view key : layouts.keys()) {
    EXPECT_THAT(text, HasSubstr(concat("`", key, "`")));
  }
}

}  // namespace
}  // namespace gantry
