// SPDX-License-Identifier: Apache-2.0
//
// Names from outside in texts for people.
#include <gantry/failure.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace gantry {
namespace {

const std::string forged = "a\n  error: forged\x1b[31m\xe2\x80\xae\xff";
const std::string shown = "a\\x0a  error: forged\\x1b[31m\\xe2\\x80\\xae\\xff";

TEST(Message, EscapesEveryPart) {
  char buffer[] = "b\nc";
  EXPECT_EQ(Message("in ", forged, "."), "in " + shown + ".");
  EXPECT_EQ(Message(std::string_view(forged)), shown);
  EXPECT_EQ(Message(forged.c_str()), shown);
  EXPECT_EQ(Message(buffer), "b\\x0ac");
  EXPECT_EQ(Message("a\nb"), "a\\x0ab");
  EXPECT_EQ(Message('\n'), "\\x0a");
  EXPECT_EQ(Message(1, true, Hex{16}), "1true0x10");
}

TEST(Message, EscapesTextsThatAreJoinedBefore) {
  EXPECT_EQ(Message(concat("in ", forged)), "in " + shown);
  EXPECT_EQ(Message(join(std::vector{forged, forged})), shown + ", " + shown);
}

TEST(Message, ShowsPrintableCharacters) {
  EXPECT_EQ(Message("mod\xc3\xa8le_\xe6\x97\xa5\xe6\x9c\xac.so"),
            "mod\xc3\xa8le_\xe6\x97\xa5\xe6\x9c\xac.so");
}

TEST(Message, KeepsTheLinesOfAMessage) {
  const Message inner = Message("a").at("b");
  EXPECT_EQ(Message("1 ", inner, " 2"), "1 a\n  b 2");
}

TEST(Message, DoesNotEscapeAQuotedNameAgain) {
  EXPECT_EQ(Message(quoted("a\n\"b\"\x1b")), R"("a\n\"b\"\x1b")");
}

TEST(Message, AddsLines) {
  EXPECT_EQ(Message("a").at("in ", forged).at("at ", 3), "a\n  in " + shown + "\n  at 3");
}

TEST(MessageLines, IndentsLaterLines) {
  EXPECT_EQ(Message::lines("a\nb\n  c\n    d\n e"), "a\n  b\n  c\n    d\n   e");
}

TEST(MessageLines, LeavesOutEmptyLines) {
  EXPECT_EQ(Message::lines("\n\na\n\nb\n"), "a\n  b");
  EXPECT_EQ(Message::lines("\n"), "");
}

TEST(MessageLines, EscapesEverythingElse) {
  EXPECT_EQ(Message::lines("a\r\n\x1b[2J\xe2\x80\xae\xff\xc3\xa8"),
            "a\\x0d\n  \\x1b[2J\\xe2\\x80\\xae\\xff\xc3\xa8");
}

TEST(MessageLines, DoesNotChangeAMessage) {
  const Message text = Message("a", forged).at(forged);
  EXPECT_EQ(Message::lines(text.text()), text);
}

TEST(Concat, DoesNotEscape) { EXPECT_EQ(concat("x", forged), "x" + forged); }

TEST(Failure, EscapesNames) {
  EXPECT_EQ(malformed(0, "symbol ", forged, " is wrong").error().message,
            "symbol " + shown + " is wrong");
  EXPECT_EQ(invalid(forged).error().message, shown);
}

TEST(Failure, EscapesNamesInContext) {
  EXPECT_EQ(invalid("wrong").at("in ", forged).error().message, "wrong\n  in " + shown);
}

TEST(Error, EscapesTextsThatAreAssigned) {
  Error error(Code::invalid, forged);
  EXPECT_EQ(error.message, shown);
  EXPECT_EQ(error.at("in ", forged).message, shown + "\n  in " + shown);
  error.message = concat("x", forged);
  EXPECT_EQ(error.message, "x" + shown);
}

}  // namespace
}  // namespace gantry
