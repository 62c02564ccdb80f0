// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/help_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr ManLists::Entry statuses[] = {{"0", "success"}, {"70", "a plugin has ended the process"}};

TEST(HelpText, ListsWhatTheParserAccepts) {
  const CommandText run{
      .name = "run",
      .description = "run a file",
      .footer = "Prints\nit.\n\nExamples:\n  tool run 'a'\n  tool run b",
      .options = {{.names = {"-n", "--number"},
                   .value = "N",
                   .description = "count",
                   .default_value = "3",
                   .range = "1 - 9",
                   .needs = {"--x"},
                   .excludes = {"--y"}},
                  {.names = {"--an-option-with-a-long-name"}, .description = "off"}},
      .arguments = {{.value = "FILE", .description = "it", .required = true},
                    {.value = "MORE", .repeatable = true}}};
  const OptionText global{.names = {"-q"}, .description = "no output"};

  EXPECT_EQ(help_text(run, "tool run", {&global, 1}, statuses), R"(run a file
Usage: tool run [OPTIONS] FILE [MORE ...]

Positionals:
  FILE                    it
  MORE ...

Options:
  -n,--number N           count; 1 - 9; default 3; requires --x
  --an-option-with-a-long-name
                          off

Global options:
  -q                      no output

Exit status:
  0   success
  70  a plugin has ended the process

Prints it.

Examples:
  tool run 'a'
  tool run b
)");
}

TEST(HelpText, ListsCommandsWithTheirOtherNames) {
  const CommandText tool{
      .name = "tool",
      .description = "Loads files.",
      .footer = "Example:\n  tool list",
      .commands = {{.name = "list", .aliases = {"ls"}, .description = "list them"},
                   {.name = "run", .description = "run one"}}};

  EXPECT_EQ(help_text(tool, "tool", {}, statuses), R"(Loads files.
Usage: tool [OPTIONS] SUBCOMMAND

Subcommands:
  list                    list them; also ls
  run                     run one

Exit status:
  0   success
  70  a plugin has ended the process

Example:
  tool list
)");
}

// Both sides of the limit: a word ends in column 100, or would end in column 101.
TEST(HelpText, BreaksLinesAt100Columns) {
  const auto help_with = [](std::size_t last_word) {
    const std::string text = std::string(50, 'a') + " " + std::string(last_word, 'b');
    const CommandText tool{.options = {{.names = {"-a"}, .description = text}}};
    return help_text(tool, "tool", {}, statuses);
  };

  EXPECT_THAT(help_with(100 - 26 - 51), HasSubstr("a b"));
  EXPECT_THAT(help_with(100 - 26 - 51 + 1), HasSubstr("a\n" + std::string(26, ' ') + "b"));
  EXPECT_THAT(help_with(200), Not(HasSubstr(" \n")));
}

}  // namespace
}  // namespace gantry::cli
