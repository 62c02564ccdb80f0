// SPDX-License-Identifier: Apache-2.0
//
// The examples of the pages for users, executed.
#include "tests/golden/cli_command.hpp"
#include "tests/support/page.hpp"

#include "core/arrays/npy.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;

TEST(RecipePage, ContainsAHostFunctionThatRuns) {
  const std::string page = read_page("core/pack/RECIPE.md");
  const TempDir temp;
  const auto path = [&](std::string_view name) { return (temp / name).string(); };
  write_file(temp / "doubled.c", blocks_of(page, "c").at(1));
  write_file(temp / "doubled.yaml", blocks_of(page, "yaml").at(1));
  const std::array<std::int64_t, 1> shape{4};
  const std::array<float, 4> x{1, 2.5, -3, 0};
  const std::span data(reinterpret_cast<const std::uint8_t*>(x.data()), sizeof x);
  write_file(temp / "x.npy", npy_bytes(gantry_dtype{2, 32, 1}, shape, data).value());

  const Outcome pack = run_gantry({"pack", path("doubled.yaml"), "-o", path("doubled.so")});
  const Outcome run = run_gantry({"--plugins", built_plugins() + "/graph", "run",
                                  path("doubled.so"), "--input", "x=" + path("x.npy")});

  EXPECT_EQ(pack.status, 0) << pack.err;
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("float32[4]  2 5 -6 0"));
}

// Returns true if a text has the form of an expected one, in which "..." stands for any text in a
// line, and a line "..." for any lines.
bool has_form(std::string_view text, std::string_view form) {
  const std::size_t gap = form.find("...");
  if (gap == std::string_view::npos) return text == form;
  if (text.substr(0, gap) != form.substr(0, gap)) return false;
  const std::string_view rest = form.substr(gap + 3);
  const bool whole_line = (gap == 0 || form[gap - 1] == '\n') && rest.starts_with('\n');
  std::size_t end = text.size();
  if (!whole_line) end = std::min(end, text.find('\n', gap));
  for (std::size_t at = gap; at <= end; ++at) {
    if (has_form(text.substr(at), rest)) return true;
    // The form's line break belongs to the last of the lines.
    if (whole_line && at == end && rest == "\n") return true;
  }
  return false;
}

// Runs the commands of a block, "$ gantry ...", each followed by its output.
TEST(ReadmePage, ShowsWhatTheCommandsPrint) {
  int commands = 0;
  for (const std::string& block : blocks_of(read_page("README.md"), "console")) {
    for (std::size_t at = 0; at < block.size();) {
      ASSERT_EQ(block.compare(at, 9, "$ gantry "), 0) << block.substr(at);
      const std::size_t line_end = block.find('\n', at);
      std::istringstream line(block.substr(at + 9, line_end - at - 9));
      const std::vector<std::string> words{std::istream_iterator<std::string>(line), {}};
      at = std::min(block.find("\n$ ", line_end), block.size() - 1) + 1;
      const std::string expected = block.substr(line_end + 1, at - line_end - 1);
      std::vector<std::string> args{"--plugins", built_plugins() + "/graph"};
      args.insert(args.end(), words.begin(), words.end());

      const Outcome outcome = run_gantry(args);

      EXPECT_TRUE(has_form(outcome.out + outcome.err, expected))
          << words[0] << ":\n"
          << outcome.out << outcome.err << "expected:\n"
          << expected;
      ++commands;
    }
  }
  EXPECT_EQ(commands, 5);
}

}  // namespace
}  // namespace gantry::test
