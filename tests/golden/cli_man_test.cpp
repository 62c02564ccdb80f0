// SPDX-License-Identifier: Apache-2.0
//
// The man pages that the built gantry and gantry-conformance write.
#include "tests/golden/cli_command.hpp"
#include "tests/golden/shell_program.hpp"
#include "tests/support/page.hpp"

#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAreArray;

std::set<std::string> all_matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), regex);
       it != std::sregex_iterator(); ++it) {
    found.insert((*it)[1].str());
  }
  return found;
}

class ManPages : public ::testing::Test {
 protected:
  ManPages() {
    const Outcome outcome = run_gantry({"__man", directory().string()});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Outcome of_kit = run_gantry_at(kit_program(), {"__man", directory().string()});
    EXPECT_EQ(of_kit.status, 0) << of_kit.err;
  }
  static std::string kit_program() { return build_tree() / "bin/gantry-conformance"; }
  fs::path directory() const { return temp_ / "man/man1"; }

  // "gantry-run.1" -> text in which minus signs and bold letters are plain
  std::map<std::string, std::string> pages() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(directory())) {
      const auto bytes = read_file(entry.path());
      std::string text(bytes.begin(), bytes.end());
      text = std::regex_replace(text, std::regex(R"(\\-)"), "-");
      all[entry.path().filename()] = std::regex_replace(text, std::regex(R"(\\f[BIR])"), "");
    }
    return all;
  }

 private:
  TempDir temp_;
};

// "gantry-plugins-doctor.1" -> {"plugins", "doctor", "--help"}
Words help_command(std::string page) {
  Words words;
  page = page.substr(0, page.size() - 2);
  std::istringstream in(page);
  for (std::string word; std::getline(in, word, '-');) words.push_back(word);
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

TEST_F(ManPages, ListTheOptionsAndCommandsOfHelp) {
  int count = 0;
  for (const auto& [name, text] : pages()) {
    const std::string help = name == "gantry-conformance.1"
                                 ? run_gantry_at(kit_program(), {"--help"}).out
                                 : run_gantry(help_command(name)).out;
    const std::string titles = text.substr(text.find("\n.SH OPTIONS\n"));

    EXPECT_THAT(all_matches(titles.substr(0, titles.find("\n.SH EXIT STATUS")),
                            "\\.TP\n(?:-\\w, )?(-[-\\w]*)"),
                UnorderedElementsAreArray(all_matches(help, "\n  (?:-\\w,)?(-[-\\w]*)")))
        << name;
    const std::string commands = help.substr(std::min(help.find("\nSubcommands:"), help.size()));
    for (const std::string& command :
         all_matches(commands.substr(0, commands.find("\n\n")), "\n  (\\w+) ")) {
      EXPECT_THAT(text,
                  HasSubstr(".BR " + name.substr(0, name.size() - 2) + "-" + command + " (1)\n"));
    }
    ++count;
  }
  EXPECT_GE(count, 12);
}

TEST_F(ManPages, ContainTheExamplesOfHelp) {
  const std::string run = pages().at("gantry-run.1");

  EXPECT_THAT(run, HasSubstr("\n.SH EXAMPLES\n.nf\n"
                             "gantry run model.so --input x=x.npy --output y.npz\n"));
}

TEST_F(ManPages, OfTheKitHasItsExitStatusesAndNoHiddenOptions) {
  const std::string kit = pages().at("gantry-conformance.1");

  EXPECT_THAT(kit, HasSubstr("one failed, or the plugin cannot be read or used here\n"));
  EXPECT_THAT(kit, HasSubstr(".BR gantry-plugins-check (1)\n"));
  EXPECT_THAT(kit, testing::Not(HasSubstr("--run-case")));
  EXPECT_THAT(kit, testing::Not(HasSubstr(".SH ENVIRONMENT")));
}

TEST_F(ManPages, ListTheVariablesThatTheCoreReads) {
  const std::set<std::string> listed =
      all_matches(pages().at("gantry.1"), "\n\\.TP\n([A-Z][A-Z_]+)");
  const std::set<std::string> read =
      all_matches(read_page("core/engine/runtime/environment.cpp"), "[({]\"([A-Z][A-Z_]+[A-Z])\"");

  EXPECT_FALSE(read.empty());
  EXPECT_THAT(listed, IsSupersetOf(read));
}

TEST_F(ManPages, DependOnlyOnTheSources) {
  const auto first = pages();
  run_gantry({"__man", directory().string()}, {"SOURCE_DATE_EPOCH=1", "TZ=Asia/Tokyo"});

  EXPECT_EQ(first, pages());
  for (const auto& [name, text] : first) EXPECT_THAT(text, HasSubstr(" 1 \"\" \"gantry "));
}

TEST_F(ManPages, HaveNoWarnings) {
  if (!has_program("groff")) GTEST_SKIP() << "groff is not installed";
  for (const auto& [name, text] : pages()) {
    EXPECT_EQ(output_of({"groff", "-man", "-ww", "-z", name}, directory()), "") << name;
  }
}

// The pages have no date, because a date of the build would make them irreproducible.
TEST_F(ManPages, HaveNoWarningsOfMandocButOneOfTheDate) {
  if (!has_program("mandoc")) GTEST_SKIP() << "mandoc is not installed";
  for (const auto& [name, text] : pages()) {
    std::istringstream lines(output_of({"mandoc", "-Tlint", name}, directory()));
    for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, HasSubstr("missing date"));
  }
}

TEST(ManCommand, RequiresADirectoryThatItCanWrite) {
  EXPECT_EQ(run_gantry({"__man"}).err, "gantry: usage: gantry __man DIRECTORY\n");
  EXPECT_EQ(run_gantry({"__man", "/dev/null/x"}).status, 1);
}

}  // namespace
}  // namespace gantry::test
