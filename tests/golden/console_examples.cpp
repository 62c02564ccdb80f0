// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/console_examples.hpp"

#include "tests/golden/cli_command.hpp"
#include "tests/support/page.hpp"
#include "tests/support/replaced_all.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace gantry::test {
namespace {

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

}  // namespace

int run_examples(std::string_view page, const WrittenFile& written) {
  const auto placed = [&](const std::string& text) {
    return written.name.empty() ? text : replaced_all(text, written.name, written.path);
  };
  int commands = 0;
  for (const std::string& block : blocks_of(read_page(page), "console")) {
    for (std::size_t at = 0; at < block.size();) {
      if (block.compare(at, 9, "$ gantry ") != 0) {
        ADD_FAILURE() << "no command: " << block.substr(at);
        return commands;
      }
      const std::size_t line_end = block.find('\n', at);
      std::istringstream line(block.substr(at + 9, line_end - at - 9));
      const std::vector<std::string> words{std::istream_iterator<std::string>(line), {}};
      at = std::min(block.find("\n$ ", line_end), block.size() - 1) + 1;
      const std::string expected = placed(block.substr(line_end + 1, at - line_end - 1));
      std::vector<std::string> args{"--plugins", built_plugins()};
      for (const std::string& word : words) args.push_back(placed(word));

      const Outcome outcome = run_gantry(args);

      EXPECT_TRUE(has_form(outcome.out + outcome.err, expected))
          << words[0] << ":\n"
          << outcome.out << outcome.err << "expected:\n"
          << expected;
      ++commands;
    }
  }
  return commands;
}

}  // namespace gantry::test
