// SPDX-License-Identifier: Apache-2.0
//
// sdk/CONFORMANCE.md has the cases of gantry-conformance --list.
#include "kit_run.hpp"

#include <gmock/gmock.h>

#include <cctype>
#include <sstream>

namespace gantry::test {
namespace {

// "16|L|must|opens|the library opens ..." of a line of --list.
std::string row_of_list(const std::string& line) {
  std::istringstream words(line);
  std::string number, level, weight, name, checks;
  words >> number >> level >> weight >> name >> std::ws;
  std::getline(words, checks);
  return number + " | " + level + " | " + weight + " | " + name + " | " + checks;
}

TEST(ConformancePage, HasTheCasesOfTheProgram) {
  const KitRun list = run_kit({"--list"});
  ASSERT_EQ(list.status, 0) << list.output;
  std::vector<std::string> wanted;
  std::istringstream lines(list.output);
  for (std::string line; std::getline(lines, line);) wanted.push_back(row_of_list(line));

  const auto bytes = read_file(std::filesystem::path(GANTRY_SOURCE_DIR) / "sdk/CONFORMANCE.md");
  std::vector<std::string> found;
  std::istringstream page(std::string(bytes.begin(), bytes.end()));
  for (std::string line; std::getline(page, line);) {
    const bool is_row = line.starts_with("| ") && line.size() > 4 &&
                        std::isdigit(static_cast<unsigned char>(line[2])) != 0;
    if (is_row) found.push_back(line.substr(2, line.size() - 4));
  }

  EXPECT_THAT(found, ::testing::ElementsAreArray(wanted));
}

}  // namespace
}  // namespace gantry::test
