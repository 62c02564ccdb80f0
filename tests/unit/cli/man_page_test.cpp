// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/man_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

CommandText sample() {
  return {
      .name = "tool",
      .description = "Loads files.",
      .footer = "Example:\n  tool run x",
      .options = {{.names = {"-q", "--quiet"}, .description = "no output"},
                  {.names = {"-V", "--version"}, .description = "version"}},
      .commands = {
          {.name = "run",
           .description = "run a file",
           .footer = "Prints it.\n\nExamples:\n  tool run 'a'\n  tool run -q b",
           .options = {{.names = {"--form"},
                        .value = "FORM",
                        .description = "how",
                        .choices = {"text", "dot"},
                        .needs = {"--x"},
                        .excludes = {"--y", "--z"}},
                       {.names = {"-n"}, .value = "N", .description = "count", .range = "1 - 9"}},
           .arguments = {{.value = "FILE", .description = "it", .required = true}}},
          {.name = "sub",
           .description = "more",
           .commands = {{.name = "list", .description = "list them"}}}}};
}

std::string page(std::string_view file) {
  for (const ManPage& each : man_pages(sample(), "1.2.3")) {
    if (each.file == file) return each.text;
  }
  return "";
}

TEST(ManPage, ExistsForEachCommand) {
  std::vector<std::string> files;
  for (const ManPage& each : man_pages(sample(), "1")) files.push_back(each.file);

  EXPECT_THAT(files, ElementsAre("tool.1", "tool-run.1", "tool-sub.1", "tool-sub-list.1"));
}

// A program whose exit statuses and references are others, without variables and files.
TEST(ManPage, HasTheListsOfItsProgram) {
  constexpr ManLists::Entry statuses[] = {{"7", "it rains"}};
  constexpr std::string_view see_also[] = {"other tool"};
  CommandText kit = sample();
  kit.commands.clear();

  const std::string text = man_pages(kit, "1", {statuses, {}, {}, see_also}).front().text;

  EXPECT_THAT(text, HasSubstr(".SH EXIT STATUS\n.TP\n\\fB7\\fR\nit rains\n.SH EXAMPLES\n"));
  EXPECT_THAT(text, HasSubstr(".SH SEE ALSO\n.BR other\\-tool (1)\n"));
  EXPECT_THAT(text, Not(HasSubstr(".SH ENVIRONMENT")));
}

TEST(ManPage, ConsistsOfWhatTheParserAccepts) {
  EXPECT_EQ(page("tool-run.1"), R"(.TH TOOL\-RUN 1 "" "gantry 1.2.3" "gantry manual"
.SH NAME
tool\-run \-
run a file
.SH SYNOPSIS
\fBtool run\fR [\fIOPTIONS\fR] \fIFILE\fR
.SH DESCRIPTION
Run a file.
.PP
Prints it.
.TP
\fIFILE\fR
it
.SH OPTIONS
.TP
\fB\-\-form\fR \fIFORM\fR
how; one of text, dot; requires \-\-x; not with \-\-y, \-\-z
.TP
\fB\-n\fR \fIN\fR
count; 1 \- 9
.SH GLOBAL OPTIONS
.TP
\fB\-q\fR, \fB\-\-quiet\fR
no output
.SH EXIT STATUS
.TP
\fB0\fR
success
.TP
\fB1\fR
the command failed
.TP
\fB2\fR
wrong usage
.TP
\fB3\fR
internal error of gantry
.TP
\fB4\fR
the time of \-\-timeout has passed
.TP
\fB70\fR
code of a plugin or of an artifact has ended the process or a thread of
gantry
.SH EXAMPLES
.nf
tool run \(aqa\(aq
tool run \-q b
.fi
.SH SEE ALSO
.BR tool (1),
.BR tool\-sub (1)
)");
}

TEST(ManPage, OfTheProgramListsCommandsVariablesAndFiles) {
  const std::string text = page("tool.1");

  EXPECT_THAT(text, HasSubstr("tool \\-\nloads files\n"));
  EXPECT_THAT(text, HasSubstr(".SH COMMANDS\n.TP\n.BR tool\\-run (1)\nrun a file\n"));
  EXPECT_THAT(text, HasSubstr(".SH ENVIRONMENT\n.TP\n\\fBGANTRY_PLUGIN_FILES\\fR\n"));
  EXPECT_THAT(text, HasSubstr(".SH FILES\n.TP\n\\fB/etc/gantry/runtime.yaml\\fR\n"));
  EXPECT_THAT(text, Not(HasSubstr("GLOBAL OPTIONS")));
}

TEST(ManPage, RefersToTheCommandAboveAndToThoseBesideAndBelow) {
  EXPECT_THAT(page("tool-sub.1"),
              HasSubstr(".SH SEE ALSO\n.BR tool (1),\n.BR tool\\-run (1),\n.BR tool\\-sub\\-list "
                        "(1)\n"));
  EXPECT_THAT(page("tool-sub-list.1"),
              HasSubstr(".SH SEE ALSO\n.BR tool (1),\n.BR tool\\-sub (1)\n"));
}

TEST(ManPage, HasLinesThatAreShorterThan80Bytes) {
  CommandText command = sample();
  for (int i = 0; i < 50; ++i) command.options[0].description += " word-with-hyphens";

  for (const ManPage& each : man_pages(command, "1")) {
    std::istringstream lines(each.text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(RoffText, ProtectsWhatRoffInterprets) {
  EXPECT_EQ(roff_text("a\\b --x 'y' ~ ^ `"), "a\\eb \\-\\-x \\(aqy\\(aq \\(ti \\(ha \\(ga");
  EXPECT_EQ(roff_text(".so file\n'a"), "\\&.so file\n\\&\\(aqa");
  EXPECT_EQ(roff_text("a.b"), "a.b");
}

}  // namespace
}  // namespace gantry::cli
