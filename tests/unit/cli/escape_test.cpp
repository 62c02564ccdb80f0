// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/escape.hpp"

#include <gtest/gtest.h>

namespace gantry::cli {
namespace {

using namespace std::string_view_literals;

TEST(Escaped, LeavesPrintableAsciiUnchanged) {
  EXPECT_EQ(escaped("fused_nn.dense+bias \"1\""), "fused_nn.dense+bias \"1\"");
}

TEST(Escaped, LeavesPrintableUtf8Unchanged) {
  EXPECT_EQ(escaped("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(Escaped, WritesControlCharactersAndInvalidBytesInHex) {
  EXPECT_EQ(escaped("\x1b[31m\n\0\x7f\xff"sv), "\\x1b[31m\\x0a\\x00\\x7f\\xff");
  EXPECT_EQ(escaped("a\xe2\x80\xae"), "a\\xe2\\x80\\xae");
}

TEST(Escaped, DistinguishesABackslashFromAnEscape) {
  EXPECT_EQ(escaped("\\x1b"), "\\\\x1b");
  EXPECT_NE(escaped("\\x1b"), escaped("\x1b"));
}

TEST(JsonText, KeepsUtf8AndEscapesOtherBytes) {
  EXPECT_EQ(json_text("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(json_text("a\xff"), "a\\xff");
}

TEST(MarkupText, HasNoMarkupAndNoCharacterThatXmlLacks) {
  EXPECT_EQ(markup_text("<a b=\"c\" d='e'>&amp;"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
  EXPECT_EQ(markup_text("a\n\tb\x1b\0"sv), "a&#10;&#9;b??");
  EXPECT_EQ(markup_text("\xef\xbf\xbe\xef\xbf\xbd\xef\xbf\xbf"), "?\xef\xbf\xbd?");
  EXPECT_EQ(markup_text("<\xff"), "&lt;\\xff");
}

TEST(DotText, KeepsAQuoteInsideTheLabel) { EXPECT_EQ(dot_text("a\"];x\\"), "a\\\"];x\\\\\\\\"); }

TEST(MermaidText, KeepsQuotesAndMarkupInsideTheLabel) {
  EXPECT_EQ(mermaid_text("a\"]<b>#&`"), "a#quot;]#lt;b#gt;#35;#amp;#96;");
}

TEST(FileNameText, ReplacesSeparatorsAndLeadingDots) {
  EXPECT_EQ(file_name_text("relax.VMExecutable"), "relax.VMExecutable");
  EXPECT_EQ(file_name_text("../../etc/passwd"), "_._.._etc_passwd");
  EXPECT_EQ(file_name_text(".hidden"), "_hidden");
  EXPECT_EQ(file_name_text(".."), "_.");
  EXPECT_EQ(file_name_text("a\0b\n"sv), "a_b_");
}

TEST(FileNameText, HasOneTo64Bytes) {
  EXPECT_EQ(file_name_text(""), "_");
  EXPECT_EQ(file_name_text(std::string(300, 'k')), std::string(64, 'k'));
}

}  // namespace
}  // namespace gantry::cli
