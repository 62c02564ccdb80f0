// SPDX-License-Identifier: Apache-2.0
//
// sdk/REASONS.md against the sources, in both directions.
#include "tests/layers/reason_uses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/files.hpp"

namespace gantry::layers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// gantry/status.h
const std::set<std::string> all_codes{"MALFORMED", "UNSUPPORTED", "UNAVAILABLE",
                                      "EXHAUSTED", "INVALID",     "NOT_FOUND",
                                      "CANCELLED", "BUG",         "LOST"};

// The rows of a page of reasons.
struct ReasonPage {
  // | `BLOB_SIZE` | MALFORMED | ... |
  std::map<std::string, std::set<std::string>> codes;
  // | D210 | `ABI_RANGE` | ... |
  std::set<std::string> discovery;
};

ReasonPage read_reasons(const std::string& page) {
  static const std::regex call(R"re(^\| `([A-Z0-9_]+)` \| ([A-Z_, ]+) \| [^|]+ \|$)re"),
      discovery(R"re(^\| D\d+ \| `([A-Z0-9_]+)` \|)re");
  ReasonPage rows;
  std::istringstream lines(page);
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, found, discovery)) rows.discovery.insert(found[1].str());
    if (!std::regex_search(line, found, call)) continue;
    std::istringstream codes(found[2].str());
    for (std::string code; codes >> code;) {
      if (code.ends_with(',')) code.pop_back();
      rows.codes[found[1].str()].insert(code);
    }
  }
  return rows;
}

// raise Error(text, Code.INVALID, "COPY_REQUIRED")
std::vector<ReasonUse> python_uses(const std::string& source) {
  static const std::regex raised(R"re(Code\.([A-Z_]+), "([A-Z0-9_]+)")re");
  std::vector<ReasonUse> uses;
  for (auto it = std::sregex_iterator(source.begin(), source.end(), raised);
       it != std::sregex_iterator(); ++it) {
    const auto lines = std::count(source.begin(), source.begin() + it->position(), '\n');
    uses.push_back({(*it)[2].str(), (*it)[1].str(), 1 + static_cast<int>(lines)});
  }
  return uses;
}

// Source files by their paths.
using Sources = std::map<std::string, std::string>;

// Compares a page with sources.
//
// sources  [in]   in C, C++ and Python; those in core and tools use the constants of discovery
// returns  one line for each difference; empty: none
std::vector<std::string> differences(const ReasonPage& page, const Sources& sources) {
  std::map<std::string, SourceReasons> read;
  std::set<std::string> functions, constants;
  for (const auto& [path, text] : sources) {
    if (path.ends_with(".py")) continue;
    const SourceReasons& reasons = read.emplace(path, SourceReasons(text)).first->second;
    if (path.ends_with(".h") || path.ends_with(".hpp")) functions.merge(reasons.functions());
    constants.merge(reasons.constants());
  }

  std::vector<std::string> found;
  std::set<std::string> used;
  const auto check = [&](const std::string& path, const ReasonUse& use) {
    const std::string place = path + ":" + std::to_string(use.line) + ": " + use.tag;
    const auto row = page.codes.find(use.tag);
    const bool is_of_discovery = page.discovery.contains(use.tag);
    used.insert(use.tag);
    if (row == page.codes.end() && !is_of_discovery) found.push_back(place + " has no row");
    if (row != page.codes.end() && !use.code.empty() && !row->second.contains(use.code))
      found.push_back(place + " is reported as " + use.code + ", which its row does not list");
    if (is_of_discovery && (path.starts_with("core/") || path.starts_with("tools/")))
      found.push_back(place + " is a literal, expected reason::" + lower(use.tag));
  };
  for (const auto& [path, text] : sources) {
    const std::vector<ReasonUse> uses =
        path.ends_with(".py") ? python_uses(text) : read.at(path).uses(functions);
    for (const ReasonUse& use : uses) check(path, use);
  }

  std::set<std::string> tags = page.discovery;
  for (const auto& [tag, codes] : page.codes) {
    tags.insert(tag);
    for (const std::string& code : codes) {
      if (!all_codes.contains(code)) found.push_back(tag + " has a row with " + code + ", no code");
    }
  }
  for (const std::string& tag : tags) {
    const bool has_constant = page.discovery.contains(tag) && constants.contains(lower(tag));
    if (!has_constant && !used.contains(tag)) found.push_back(tag + " is in no source");
  }
  return found;
}

TEST(ReasonsPage, ListsTheReasonsOfTheSourcesWithTheirCodes) {
  const std::filesystem::path root = GANTRY_SOURCE_DIR;
  const ReasonPage page = read_reasons(test::file_text(root / "sdk/REASONS.md"));
  Sources sources;
  for (const char* directory : {"core", "plugins", "sdk", "tools"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / directory)) {
      const std::string extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".hpp" || extension == ".c" || extension == ".h" ||
          extension == ".py") {
        sources.emplace(entry.path().lexically_relative(root).generic_string(),
                        test::file_text(entry.path()));
      }
    }
  }

  const std::vector<std::string> found = differences(page, sources);

  EXPECT_GT(page.codes.size(), 150u);
  EXPECT_GT(page.discovery.size(), 80u);
  std::string all;
  for (const std::string& difference : found) all += difference + "\n";
  EXPECT_THAT(found, IsEmpty()) << all;
}

// "## Owners and modes" is #owners-and-modes.
TEST(ReasonsPage, LinksToSectionsThatExist) {
  const std::filesystem::path root = GANTRY_SOURCE_DIR, sdk = root / "sdk";
  const std::string page = test::file_text(sdk / "REASONS.md");
  // [title](ABI.md#section) or `configs/TRUST.md#section`
  static const std::regex link(R"re((?:\]\(|`(?=configs/))([^)#`]+)(?:#([^)`]+))?[)`])re");

  int count = 0;
  for (auto it = std::sregex_iterator(page.begin(), page.end(), link); it != std::sregex_iterator();
       ++it) {
    const std::string path = (*it)[1].str();
    const std::filesystem::path file = (path.starts_with("configs/") ? root : sdk) / path;
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
    ++count;
    if (!(*it)[2].matched) continue;
    std::set<std::string> sections;
    std::istringstream lines(test::file_text(file));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("##")) continue;
      line = lower(line.substr(line.find_first_not_of("# ")));
      std::ranges::replace(line, ' ', '-');
      sections.insert(line);
    }
    EXPECT_TRUE(sections.contains((*it)[2].str())) << file << " has no section " << (*it)[2];
  }
  EXPECT_GT(count, 50);
}

constexpr const char* small_page =
    "| `BLOB_SIZE` | MALFORMED, UNSUPPORTED | A size is wrong. |\n"
    "| `STREAM` | INVALID | A stream is wrong. |\n"
    "| D210 | `ABI_RANGE` | ranges are disjoint | install another | [The note](ABI.md#the-note) "
    "|\n";

// Names each reason of small_page.
constexpr const char* small_source =
    "a = malformed(0, x).with_reason(\"BLOB_SIZE\");\n"
    "b = invalid(y).with_reason(\"STREAM\");\n"
    "c = unsupported(z).with_reason(reason::abi_range.tag);\n";

std::vector<std::string> differences_with(const std::string& path, const std::string& text) {
  return differences(read_reasons(small_page), {{"core/a.cpp", small_source}, {path, text}});
}

TEST(ReasonDifferences, AreNoneIfEachReasonHasARowAndEachRowAReason) {
  EXPECT_THAT(differences(read_reasons(small_page), {{"core/a.cpp", small_source}}), IsEmpty());
}

TEST(ReasonDifferences, AreLiteralsWithoutARow) {
  EXPECT_THAT(differences_with("plugins/b.cpp", "\nx = bug(y).with_reason(\"BLOB_SIZES\");\n"),
              ElementsAre("plugins/b.cpp:2: BLOB_SIZES has no row"));
  EXPECT_THAT(differences_with("core/b.cpp", "if (x.reason != \"STREAMS\") return;\n"),
              ElementsAre("core/b.cpp:1: STREAMS has no row"));
  EXPECT_THAT(differences_with("sdk/b.py", "\n\nraise Error(text, Code.INVALID, \"STREAMS\")\n"),
              ElementsAre("sdk/b.py:3: STREAMS has no row"));
}

TEST(ReasonDifferences, AreFunctionsOfOtherHeadersThatTakeAReason) {
  const Sources sources{
      {"core/a.cpp", small_source},
      {"sdk/b.hpp", "[[noreturn]] void refuse(std::string_view reason, std::string_view text);\n"},
      {"sdk/b.cpp", "refuse(\"STREAMS\", \"is wrong\");\n"}};

  EXPECT_THAT(differences(read_reasons(small_page), sources),
              ElementsAre("sdk/b.cpp:1: STREAMS has no row"));
}

TEST(ReasonDifferences, AreRowsWithoutAUse) {
  EXPECT_THAT(
      differences(read_reasons(small_page),
                  {{"core/a.cpp", "// BLOB_SIZE, \"STREAM\"\nadd_option(\"STREAM\", \"--x\");\n"}}),
      ElementsAre("ABI_RANGE is in no source", "BLOB_SIZE is in no source",
                  "STREAM is in no source"));
}

TEST(ReasonDifferences, AreCodesThatARowDoesNotList) {
  EXPECT_THAT(
      differences_with("plugins/b.cpp", "return exhausted(y).with_reason(\"BLOB_SIZE\");\n"),
      ElementsAre("plugins/b.cpp:1: BLOB_SIZE is reported as EXHAUSTED, which its row does "
                  "not list"));
  EXPECT_THAT(
      differences_with("plugins/b.cpp", "return unsupported(y).with_reason(\"BLOB_SIZE\");\n"),
      IsEmpty());
}

TEST(ReasonDifferences, AreRowsWithAnotherWordThanACode) {
  EXPECT_THAT(differences(read_reasons("| `STREAM` | INVALID, WRONG | A stream is wrong. |\n"),
                          {{"core/a.cpp", "x = invalid(y).with_reason(\"STREAM\");\n"}}),
              ElementsAre("STREAM has a row with WRONG, no code"));
}

TEST(ReasonDifferences, AreLiteralsOfReasonsThatHaveAConstant) {
  EXPECT_THAT(differences_with("core/b.cpp", "return unsupported(y).with_reason(\"ABI_RANGE\");\n"),
              ElementsAre("core/b.cpp:1: ABI_RANGE is a literal, expected reason::abi_range"));
  EXPECT_THAT(
      differences_with("plugins/b.cpp", "return unsupported(y).with_reason(\"ABI_RANGE\");\n"),
      IsEmpty());
}

std::vector<ReasonUse> uses_of(std::string_view source,
                               const std::set<std::string>& functions = {}) {
  return SourceReasons(source).uses(functions);
}

TEST(ReasonUses, HaveTheCodeOfTheFunctionThatMakesTheError) {
  EXPECT_THAT(uses_of("return gantry::malformed(at, \"edge 3) of (\", n[2], ')')\n"
                      "    .at(\"in \", name(1))\n"
                      "    .native(\"CUDA\", 2)\n"
                      "    .with_reason(\"TREE_EDGE\");\n"
                      "x = fail(Code::not_found, y).with_reason(z ? \"INPUT\" : \"OUTPUT\");\n"
                      "e = Error(Code::bug, text).with_reason(\"VERDICT\");\n"
                      "return std::move(e).with_reason(\"NODE\");\n"),
              ElementsAre(ReasonUse{"TREE_EDGE", "MALFORMED", 4},
                          ReasonUse{"INPUT", "NOT_FOUND", 5}, ReasonUse{"OUTPUT", "NOT_FOUND", 5},
                          ReasonUse{"VERDICT", "BUG", 6}, ReasonUse{"NODE", "", 7}));
}

TEST(ReasonUses, AreArgumentsOfFunctionsWithAParameterOfThatName) {
  EXPECT_THAT(
      uses_of("static gantry_code malformed(gantry_status* s, const char* reason, int at) {\n"
              "  return gantry_fail(s, GANTRY_MALFORMED, reason, \"no size\");\n"
              "}\n"
              "const auto refuse = [&](const auto& what, std::string_view reason) { };\n"
              "return malformed(status, \"BLOB_SIZE\", 8);\n"
              "return refuse(\"a map\", \"SHAPE\");\n"
              "return gantry_fail(status, GANTRY_INVALID, \"STREAM\", \"no stream\");\n",
              {"gantry_fail"}),
      ElementsAre(ReasonUse{"BLOB_SIZE", "MALFORMED", 5}, ReasonUse{"SHAPE", "", 6},
                  ReasonUse{"STREAM", "INVALID", 7}));
}

TEST(ReasonUses, AreItemsOfListsComparisonsAndAssignments) {
  EXPECT_THAT(
      uses_of("constexpr std::string_view reasons[] = {\"\", \"SHAPE\", \"STREAM\"};\n"
              "constexpr Kind reason_kinds[] = {{\"INPUT\", \"TypeError\"}};\n"
              "if (error.reason == \"NODE\" || error.reason != \"OUTPUT\") return;\n"
              "error.reason = \"GRAPH\";\n"
              "parse(json, {.name = \"JSON\", .reason = \"CONFIG\"});\n"),
      ElementsAre(ReasonUse{"SHAPE", "", 1}, ReasonUse{"STREAM", "", 1}, ReasonUse{"INPUT", "", 2},
                  ReasonUse{"NODE", "", 3}, ReasonUse{"OUTPUT", "", 3}, ReasonUse{"GRAPH", "", 4},
                  ReasonUse{"CONFIG", "", 5}));
}

TEST(ReasonUses, AreNotInCommentsAndOtherLiterals) {
  EXPECT_THAT(uses_of("// .with_reason(\"SHAPE\")\n"
                      "/* .with_reason(\"SHAPE\") */ int a = 1'000;\n"
                      "f(R\"x(.with_reason(\"SHAPE\"))x\", '\"', \"\\\".with_reason(\");\n"
                      "add_option(\"TARGET\", \"--target\");\n"
                      "return invalid(\"STREAM\", a);\n"),
              IsEmpty());
}

TEST(ReasonConstants, AreQualifiedNamesOutsideOfComments) {
  EXPECT_THAT(SourceReasons("// reason::isa\nx.with_reason(reason::abi_range.tag);\n"
                            "f(&gantry::reason::target, other_reason::no);\n")
                  .constants(),
              UnorderedElementsAre("abi_range", "target"));
}

}  // namespace
}  // namespace gantry::layers
