// SPDX-License-Identifier: Apache-2.0
//
// sdk/CONFORMANCE.md has the cases of gantry-conformance --list, and sdk/ABI.md names some of them.
#include "kit_run.hpp"

#include <gmock/gmock.h>

#include <cctype>
#include <regex>
#include <set>
#include <sstream>

namespace gantry::test {
namespace {

std::string page(const char* name) {
  const auto bytes = read_file(std::filesystem::path(GANTRY_SOURCE_DIR) / "sdk" / name);
  return {bytes.begin(), bytes.end()};
}

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

  std::vector<std::string> found;
  std::istringstream rows(page("CONFORMANCE.md"));
  for (std::string line; std::getline(rows, line);) {
    const bool is_row = line.starts_with("| ") && line.size() > 4 &&
                        std::isdigit(static_cast<unsigned char>(line[2])) != 0;
    if (is_row) found.push_back(line.substr(2, line.size() - 4));
  }

  EXPECT_THAT(found, ::testing::ElementsAreArray(wanted));
}

// The numbers in a part of a page: of the texts that match `pattern`.
std::set<int> numbers_in(const std::string& text, const std::regex& pattern) {
  std::set<int> numbers;
  const std::regex number("[0-9]+");
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    const std::string match = at->str();
    for (std::sregex_iterator each(match.begin(), match.end(), number); each != end; ++each)
      numbers.insert(std::stoi(each->str()));
  }
  return numbers;
}

std::set<int> cases_of_the_program() {
  const KitRun list = run_kit({"--list"});
  return numbers_in("\n" + list.output, std::regex("\n[0-9]+"));
}

TEST(ConformancePage, ListsTheNumbersWithoutACase) {
  const std::string text = page("CONFORMANCE.md");
  const std::size_t part = text.find("\n## Numbers without a case\n");
  ASSERT_NE(part, std::string::npos);

  const std::set<int> without = numbers_in(text.substr(part), std::regex("`[0-9]+`"));

  const std::set<int> cases = cases_of_the_program();
  for (int number = 1; number <= *cases.rbegin(); ++number)
    EXPECT_NE(cases.contains(number), without.contains(number)) << "case " << number;
}

TEST(AbiPage, NamesCasesOfTheProgram) {
  const std::set<int> named =
      numbers_in(page("ABI.md"), std::regex("any plugin: cases? [0-9]+(, [0-9]+)*"));

  const std::set<int> cases = cases_of_the_program();
  EXPECT_THAT(named, ::testing::Contains(28));
  for (const int number : named) EXPECT_TRUE(cases.contains(number)) << "case " << number;
}

}  // namespace
}  // namespace gantry::test
