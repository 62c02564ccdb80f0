// SPDX-License-Identifier: Apache-2.0
//
// Tables, bars, sizes, times, progress and error texts.
#include "tools/gantry/common/chart.hpp"
#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/progress.hpp"
#include "tools/gantry/common/status_line.hpp"
#include "tools/gantry/common/text_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gantry::cli {
namespace {

constexpr Terminal no_terminal{};

std::string table(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows,
                  const Terminal& terminal, int indent) {
  std::string text;
  write_table(
      columns, rows.size(), [&](std::size_t index) { return rows[index]; }, terminal,
      [&](std::string_view piece) { text += piece; }, indent);
  return text;
}

TEST(TextTable, MakesColumnsAsWideAsTheirWidestCell) {
  EXPECT_EQ(table({{"index", Align::right}, {"type key"}, {"bytes", Align::right}},
                  {{"0", "GraphExecutorFactory", "12"}, {"10", "_lib", "1234567"}}, no_terminal, 2),
            "  index  type key                bytes\n"
            "      0  GraphExecutorFactory       12\n"
            "     10  _lib                  1234567\n");
}

TEST(TextTable, CountsCharactersRatherThanBytes) {
  const std::string name = "mod\xc3\xa8le_\xe6\x97\xa5";
  EXPECT_EQ(table({{"a"}, {"b"}}, {{name, "x"}, {"12345678", "y"}}, no_terminal, 0),
            "a         b\n" + name + "  x\n12345678  y\n");
  EXPECT_EQ(table({{"a"}}, {{name + name}}, Terminal{true, false, 13}, 0),
            "a\n" + name + "mo...\n");
}

// A cell has one line whatever its name contains.
TEST(TextTable, EscapesNames) {
  EXPECT_EQ(table({{"a"}, {"b"}}, {{"x\ny", std::string("\x1b[0m")}}, no_terminal, 0),
            "a       b\nx\\x0ay  \\x1b[0m\n");
}

TEST(TextTable, WritesNoTrailingBlanks) {
  EXPECT_EQ(table({{"a"}, {"b"}, {"c"}}, {{"long cell", "", ""}, {"x", "", "y"}}, no_terminal, 0),
            "a          b  c\n"
            "long cell\n"
            "x             y\n");
}

TEST(TextTable, TruncatesOnlyTheLastColumnAndOnlyOnATerminal) {
  const std::vector<TableColumn> columns{{"a"}, {"name"}};
  const std::vector<TableRow> rows{{"0123456789", "abcdefghijklmnopqrstuvwxyz"}};

  EXPECT_EQ(table(columns, rows, Terminal{true, false, 30}, 0),
            "a           name\n"
            "0123456789  abcdefghijklmno...\n");
  EXPECT_EQ(table(columns, rows, no_terminal, 0),
            "a           name\n"
            "0123456789  abcdefghijklmnopqrstuvwxyz\n");
}

TEST(TextTable, PaintsWithoutMovingColumns) {
  EXPECT_EQ(table({{"a"}, {"b"}}, {{TableCell("x", Tone::bad), "y"}}, Terminal{true, true, 80}, 0),
            "\x1b[1ma\x1b[0m  \x1b[1mb\x1b[0m\n"
            "\x1b[31mx\x1b[0m  y\n");
}

TEST(HumanSize, SelectsTheUnitWithTheShortestNumber) {
  EXPECT_EQ(human_size(0), "0 B");
  EXPECT_EQ(human_size(1023), "1023 B");
  EXPECT_EQ(human_size(1024), "1.0 KiB");
  EXPECT_EQ(human_size(1536), "1.5 KiB");
  EXPECT_EQ(human_size((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(human_size(UINT64_MAX), "16.0 EiB");
}

TEST(HumanTime, HasThreeSignificantDigits) {
  EXPECT_EQ(human_time(0), "0 ns");
  EXPECT_EQ(human_time(870.4), "870 ns");
  EXPECT_EQ(human_time(999.6), "1.00 us");
  EXPECT_EQ(human_time(12345), "12.3 us");
  EXPECT_EQ(human_time(9996), "10.0 us");
  EXPECT_EQ(human_time(123.4e6), "123 ms");
  EXPECT_EQ(human_time(75e9), "75.0 s");
}

TEST(HumanNumber, HasThreeSignificantDigits) {
  EXPECT_EQ(human_number(0.417), "0.42");
  EXPECT_EQ(human_number(12.34), "12.3");
  EXPECT_EQ(human_number(999.6), "1.00 k");
  EXPECT_EQ(human_number(194800), "195 k");
  EXPECT_EQ(human_number(4.56e6), "4.56 M");
}

constexpr Terminal utf8_terminal{true, false, 80, true};

TEST(Bar, IsAsLongAsItsShare) {
  EXPECT_EQ(bar_text(0, 8, no_terminal), "");
  EXPECT_EQ(bar_text(0.001, 8, no_terminal), "#");
  EXPECT_EQ(bar_text(0.5, 8, no_terminal), "####");
  EXPECT_EQ(bar_text(1, 8, no_terminal), "########");
  EXPECT_EQ(bar_text(0.5, 8, utf8_terminal), "████");
  EXPECT_EQ(bar_text(0.55, 8, utf8_terminal), "████▍");
  EXPECT_EQ(bar_text(0.001, 8, utf8_terminal), "▏");
}

TEST(Bar, HasNoOtherShares) {
  EXPECT_EQ(bar_text(-1, 8, no_terminal), "");
  EXPECT_EQ(bar_text(7, 8, no_terminal), "########");
  EXPECT_EQ(bar_text(NAN, 8, no_terminal), "");
}

TEST(Levels, AreBlankOnlyForCountsOf0) {
  const std::size_t counts[] = {0, 1, 500, 1000};

  EXPECT_EQ(levels_text(counts, no_terminal), " .+@");
  EXPECT_EQ(levels_text(counts, utf8_terminal), " ▁▄█");
  EXPECT_EQ(levels_text({}, no_terminal), "");
  EXPECT_EQ(levels_text(std::span(counts).first(1), no_terminal), " ");
}

TEST(ProgressText, FillsTheBarInProportion) {
  EXPECT_EQ(progress_text("run", 0, 4, 24), "run [             ] 0/4");
  EXPECT_EQ(progress_text("run", 2, 4, 24), "run [######       ] 2/4");
  EXPECT_EQ(progress_text("run", 4, 4, 24), "run [#############] 4/4");
}

TEST(ProgressText, OmitsTheBarOnANarrowTerminal) {
  EXPECT_EQ(progress_text("run", 2, 4, 8), "run 2/4");
  EXPECT_EQ(progress_text("run", 2, 4, 5), "run 2");
}

TEST(ProgressText, WritesBytesWithUnits) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;

  EXPECT_EQ(progress_text("inspect", gib, 4 * gib, 42, ProgressUnit::bytes),
            "inspect [###            ] 1.0 GiB/4.0 GiB");
}

TEST(ProgressText, SupportsTheLargestTotal) {
  EXPECT_EQ(progress_text("run", UINT64_MAX / 2, UINT64_MAX, 60, ProgressUnit::bytes),
            "run [##################                  ] 8.0 EiB/16.0 EiB");
}

TEST(StatusLine, IsOverwrittenAndErasedWithBlanks) {
  EXPECT_EQ(line_over(0, "linking", 80), "\rlinking");
  EXPECT_EQ(line_over(10, "linking", 80), "\rlinking   ");
  EXPECT_EQ(line_over(10, "", 80), "\r          ");
}

TEST(StatusLine, IsTruncatedBeforeTheEdge) {
  EXPECT_EQ(line_over(0, "0123456789", 8), "\r0123456");
  EXPECT_EQ(line_over(9, "0123456789", 8), "\r0123456  ");
  EXPECT_EQ(line_over(0, "0123456789", 0), "\r");
  EXPECT_EQ(line_over(4, "\xc3\xa8\xc3\xa8\xc3\xa8", 3), "\r\xc3\xa8\xc3\xa8  ");
}

TEST(StatusLine, IsNotTruncatedWithinACharacter) {
  EXPECT_EQ(line_over(0, "012\u00e9\u00e9", 6), "\r012\u00e9\u00e9");
  EXPECT_EQ(line_over(0, "012\u00e9\u00e9", 5), "\r012\u00e9");
}

TEST(ErrorText, BeginsWithTheProgramAndKeepsContextLines) {
  EXPECT_EQ(error_text(malformed(8, "row pointer 0 is 1, expected 0").at("in \"m.so\"")),
            "gantry: row pointer 0 is 1, expected 0 (offset 0x8)\n  in \"m.so\"\n");
}

TEST(ErrorText, MarksInternalErrors) {
  EXPECT_EQ(error_text(bug("slot 3 is taken")), "gantry: internal error: slot 3 is taken\n");
}

TEST(ErrorText, EscapesTerminalControlCodes) {
  EXPECT_EQ(error_text(unavailable("driver says \x1b[2J\rok")),
            "gantry: driver says \\x1b[2J\\x0dok\n");
}

}  // namespace
}  // namespace gantry::cli
