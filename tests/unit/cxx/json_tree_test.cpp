// SPDX-License-Identifier: Apache-2.0
#include <gantry/json_tree.hpp>

#include "tests/fuzz/budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <vector>

namespace gantry {
namespace {

using namespace std::string_view_literals;
using ::testing::ElementsAre;

TEST(JsonTree, HoldsEveryKindOfValue) {
  const auto tree = JsonTree::parse(
      R"({"none": null, "yes": true, "no": false, "less": -3, "most": 18446744073709551615,
          "half": 0.5, "text": "a", "list": [1, [2], {}], "record": {"inner": "b"}})");
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  const JsonValue root = tree->root();

  EXPECT_EQ(root.size(), 9u);
  EXPECT_TRUE(root.find("none")->is(JsonKind::null));
  EXPECT_TRUE(root.find("yes")->is(JsonKind::boolean));
  EXPECT_TRUE(root.find("yes")->truth());
  EXPECT_FALSE(root.find("no")->truth());
  EXPECT_TRUE(root.find("less")->is(JsonKind::negative));
  EXPECT_EQ(root.find("less")->integer(), -3);
  EXPECT_TRUE(root.find("most")->is(JsonKind::count));
  EXPECT_EQ(root.find("most")->count(), UINT64_MAX);
  EXPECT_TRUE(root.find("half")->is(JsonKind::fraction));
  EXPECT_EQ(root.find("half")->fraction(), 0.5);
  EXPECT_TRUE(root.find("text")->is(JsonKind::text));
  EXPECT_EQ(root.find("text")->text(), "a");
  EXPECT_TRUE(root.find("list")->is(JsonKind::array));
  EXPECT_EQ(root.find("list")->size(), 3u);
  EXPECT_TRUE(root.find("record")->is(JsonKind::object));
  EXPECT_EQ(root.find("record")->find("inner")->text(), "b");
}

TEST(JsonTree, AddsTheOffsetOfTheText) {
  const auto tree = JsonTree::parse("\xef\xbb\xbf {\"a\": [10, \"b\", -2]}", {.offset = 100});
  ASSERT_TRUE(tree.ok()) << tree.error().message;

  EXPECT_EQ(tree->root().offset(), 104u);
  const JsonValue list = tree->root().find("a").value();
  EXPECT_EQ(list.offset(), 110u);
  std::vector<std::uint64_t> offsets;
  for (const JsonValue item : list) offsets.push_back(item.offset());
  EXPECT_THAT(offsets, ElementsAre(111, 115, 120));
}

TEST(JsonTree, IteratesOverItemsAndMembers) {
  const auto tree = JsonTree::parse(R"([{"a": [[]], "b\n": {"c": 1}, "d": {}}, [], 7, "x", null])");
  ASSERT_TRUE(tree.ok()) << tree.error().message;

  std::vector<JsonKind> kinds;
  for (const JsonValue item : tree->root()) kinds.push_back(item.kind());
  EXPECT_THAT(kinds, ElementsAre(JsonKind::object, JsonKind::array, JsonKind::count, JsonKind::text,
                                 JsonKind::null));
  std::vector<std::string_view> keys;
  for (const JsonValue member : *tree->root().begin()) keys.push_back(member.key());
  EXPECT_THAT(keys, ElementsAre("a", "b\n", "d"));
  for (const JsonValue item : tree->root()) {
    if (item.is(JsonKind::object)) continue;
    EXPECT_EQ(item.size(), 0u);
    EXPECT_TRUE(item.begin() == item.end());
  }
}

TEST(JsonTree, FindsOnlyMembersOfObjects) {
  const auto tree = JsonTree::parse(R"([{"a": {"b": 1}}])");

  EXPECT_FALSE(tree->root().find("a").has_value());
  EXPECT_TRUE(tree->root().begin().operator*().find("a").has_value());
  EXPECT_FALSE(tree->root().begin().operator*().find("b").has_value());
}

TEST(JsonTree, FindsTheLastOfTwoMembersOfOneName) {
  EXPECT_EQ(JsonTree::parse(R"({"a": 1, "b": 2, "a": 3})")->root().find("a")->count(), 3u);
}

TEST(JsonTree, EndsAtANulByte) { EXPECT_EQ(JsonTree::parse("[1] \0garbage"sv)->root().size(), 1u); }

// The destructor of a tree of nested objects in memory would recurse as deep.
TEST(JsonTree, AcceptsAnyDepthUpToTheLimit) {
  constexpr std::size_t depth = 1'000'000;
  const std::string text = std::string(depth, '[') + std::string(depth, ']');

  const auto tree = JsonTree::parse(text, {.max_depth = depth});

  ASSERT_TRUE(tree.ok()) << tree.error().message;
  std::size_t levels = 1;
  for (JsonValue value = tree->root(); value.size() == 1; value = *value.begin()) ++levels;
  EXPECT_EQ(levels, depth);
}

struct Number {
  std::string text;
  JsonKind kind;
  double value;
  friend void PrintTo(const Number& number, std::ostream* out) { *out << number.text; }
};
class JsonNumber : public ::testing::TestWithParam<Number> {};

TEST_P(JsonNumber, HasTheKindThatFits) {
  const auto tree = JsonTree::parse(GetParam().text);

  ASSERT_TRUE(tree.ok()) << tree.error().message;
  const JsonValue root = tree->root();
  EXPECT_EQ(root.kind(), GetParam().kind);
  EXPECT_EQ(root.is(JsonKind::fraction)   ? root.fraction()
            : root.is(JsonKind::negative) ? static_cast<double>(root.integer())
                                          : static_cast<double>(root.count()),
            GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, JsonNumber,
    ::testing::Values(Number{"0", JsonKind::count, 0}, Number{"-0", JsonKind::negative, 0},
                      Number{"120", JsonKind::count, 120}, Number{"-7", JsonKind::negative, -7},
                      Number{"18446744073709551616", JsonKind::fraction, 18446744073709551616.0},
                      Number{"-9223372036854775808", JsonKind::negative, -9223372036854775808.0},
                      Number{"-9223372036854775809", JsonKind::fraction, -9223372036854775808.0},
                      Number{"0.25", JsonKind::fraction, 0.25},
                      Number{"-1.5e2", JsonKind::fraction, -150},
                      Number{"1E+2", JsonKind::fraction, 100},
                      Number{"25e-2", JsonKind::fraction, 0.25},
                      Number{"1.7976931348623158e308", JsonKind::fraction, 1.7976931348623158e308},
                      // too small for a double
                      Number{"1e-400", JsonKind::fraction, 0},
                      Number{"1e-99999999999999999999", JsonKind::fraction, 0},
                      Number{"0." + std::string(400, '0') + "1", JsonKind::fraction, 0},
                      Number{"1" + std::string(400, '0') + "e-800", JsonKind::fraction, 0},
                      Number{"0e99999999999999999999", JsonKind::fraction, 0}));

struct Escape {
  std::string_view text, expected;
};
class JsonEscape : public ::testing::TestWithParam<Escape> {};

TEST_P(JsonEscape, IsReplaced) {
  const auto tree = JsonTree::parse(GetParam().text);

  ASSERT_TRUE(tree.ok()) << tree.error().message;
  EXPECT_EQ(tree->root().text(), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, JsonEscape,
    ::testing::Values(Escape{R"("plain")", "plain"}, Escape{R"("")", ""},
                      Escape{R"("a\"b\\c\/d")", "a\"b\\c/d"},
                      Escape{R"("\b\f\n\r\t")", "\b\f\n\r\t"},
                      Escape{R"("\u0041\u00e9\u20AC")", "A\xc3\xa9\xe2\x82\xac"},
                      Escape{R"("x\ud83d\ude00y")", "x\xf0\x9f\x98\x80y"},
                      Escape{R"("\u0000")", "\0"sv},
                      Escape{"\"\xf0\x9f\x98\x80\x7f\"", "\xf0\x9f\x98\x80\x7f"}));

TEST(JsonTree, KeepsTextsWithEscapesApart) {
  const auto tree = JsonTree::parse(R"({"\u0061": "b\n", "c": "\td"})");

  ASSERT_TRUE(tree.ok()) << tree.error().message;
  EXPECT_EQ(tree->root().find("a")->text(), "b\n");
  EXPECT_EQ(tree->root().find("c")->text(), "\td");
}

// `read` is a prefix of a JSON text, and the next byte is invalid.
struct Bad {
  std::string_view name, read, rest;
  friend void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }
};
class JsonTreeRefuses : public ::testing::TestWithParam<Bad> {};

TEST_P(JsonTreeRefuses, AtTheInvalidByte) {
  const Bad& bad = GetParam();
  const std::string text = std::string(bad.read).append(bad.rest);

  const auto tree = JsonTree::parse(text, {.name = "recipe", .reason = "RECIPE", .offset = 100});

  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().code, Code::malformed);
  EXPECT_EQ(tree.error().reason, "RECIPE");
  EXPECT_EQ(tree.error().offset, 100 + bad.read.size() + (bad.rest.empty() ? 0 : 1));
  const std::string read =
      quoted(bad.read.substr(bad.read.size() - std::min(bad.read.size(), 16ul)));
  EXPECT_EQ(tree.error().message,
            bad.rest.empty()
                ? concat("recipe is not JSON: ends after ", read)
                : concat("recipe is not JSON: ", quoted(bad.rest.substr(0, 1)), " follows ", read));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, JsonTreeRefuses,
    ::testing::Values(
        Bad{"Nothing", "", ""}, Bad{"Blanks", " \n\r\t", ""}, Bad{"OtherBlank", "", "\f1"},
        Bad{"HalfOfAMark", "", "\xef\xbb{}"}, Bad{"Word", "nu", "x"}, Bad{"WordAlone", "tru", ""},
        Bad{"WordAndMore", "false", "e"}, Bad{"Capital", "", "True"}, Bad{"NotANumber", "", "NaN"},
        Bad{"Minus", "-", ""}, Bad{"MinusWord", "-", "x"}, Bad{"Plus", "", "+1"},
        Bad{"LeadingZero", "0", "1"}, Bad{"PointFirst", "", ".5"}, Bad{"PointLast", "1.", "]"},
        Bad{"NoExponent", "1e", "x"}, Bad{"SignOfNothing", "1e+", ""}, Bad{"Hex", "0", "x10"},
        Bad{"TooLarge", "1e30", "9"}, Bad{"TooLargeNegative", "-1e99", "9"},
        Bad{"LargeExponent", "1e9999999999999999999", "9"}, Bad{"OpenText", "\"ab", ""},
        Bad{"ControlCharacter", "\"a", "\n\""}, Bad{"NulInText", "\"a", "\0\""sv},
        Bad{"BadEscape", "\"\\", "x\""}, Bad{"EndInEscape", "\"\\", ""},
        Bad{"BadDigit", "\"\\u12", "g4\""}, Bad{"EndInDigits", "\"\\u12", ""},
        Bad{"SecondHalfAlone", "\"\\udc0", "0\""}, Bad{"FirstHalfAlone", "\"\\ud800", "\""},
        Bad{"FirstHalfAndEscape", "\"\\ud800\\", "n\""},
        Bad{"TwoFirstHalves", "\"\\ud800\\ud80", "0\""},
        Bad{"FirstHalfAndLetter", "\"\\ud800\\u004", "1\""}, Bad{"Tail", "\"", "\x80\""},
        Bad{"Overlong", "\"", "\xc0\xaf\""}, Bad{"Surrogate", "\"", "\xed\xa0\x80\""},
        Bad{"CutCharacter", "\"", "\xe2\x82"}, Bad{"OpenList", "[1", ""},
        Bad{"CommaFirst", "[", ",1]"}, Bad{"CommaLast", "[1,", "]"}, Bad{"NoComma", "[1 ", "2]"},
        Bad{"ListAsObject", "[1", "}"}, Bad{"ObjectAsList", "{", "]"},
        Bad{"OpenObject", "{\"a\":1", ""}, Bad{"NumberAsKey", "{", "1:2}"},
        Bad{"NoColon", "{\"a\" ", "1}"}, Bad{"NoValue", "{\"a\":", "}"},
        Bad{"ObjectCommaFirst", "{", ",}"}, Bad{"ObjectCommaLast", "{\"a\":1,", "}"},
        Bad{"ObjectNoComma", "{\"a\":1 ", "\"b\"}"}, Bad{"CommentHere", "[1,", "// x\n2]"},
        Bad{"NulInList", "[1,", "\0 2]"sv}, Bad{"TwoValues", "{} ", "{}"},
        Bad{"CloseWithoutOpen", "1", "]"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(JsonTree, ShowsTheLastBytesBeforeTheError) {
  const auto tree = JsonTree::parse("[\"" + std::string(100, 'a') + "\",?");

  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().message, R"(text is not JSON: "?" follows "aaaaaaaaaaaaaa\",")");
  EXPECT_EQ(tree.error().reason, "JSON");
}

TEST(JsonTree, RefusesMoreDepthThanAllowedAtTheLastContainer) {
  const std::string text = R"([{"a": [{}]}])";
  ASSERT_TRUE(JsonTree::parse(text, {.max_depth = 4}).ok());

  const auto tree = JsonTree::parse(text, {.name = "graph", .offset = 100, .max_depth = 3});

  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().code, Code::malformed);
  EXPECT_EQ(tree.error().message, "graph is nested deeper than 3");
  EXPECT_EQ(tree.error().offset, 107u);
}

// Offsets have 32 bits. The memory of this text cannot be read.
TEST(JsonTree, RefusesFourGibibytes) {
  constexpr std::size_t size = std::size_t{1} << 32;
  void* const memory =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);

  const auto tree = JsonTree::parse({static_cast<const char*>(memory), size}, {.offset = 8});

  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().code, Code::malformed);
  EXPECT_EQ(tree.error().offset, 8u);
  EXPECT_EQ(tree.error().message, "text has 4294967296 bytes, maximum is 4294967295");
  munmap(memory, size);
}

TEST(JsonTree, RefusesEveryTruncation) {
  constexpr std::string_view text =
      R"({"a": [1, -2.5e3, "x\n\ud83d\ude00", {"b": null}], "c": {"d": [true, false]}, "e": 7})";
  ASSERT_TRUE(JsonTree::parse(text).ok());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto tree = JsonTree::parse(text.substr(0, size));
    ASSERT_FALSE(tree.ok()) << size;
    EXPECT_EQ(tree.error().offset, size);
  }
}

// A text of one mebibyte that repeats one structure, followed by closing brackets.
struct Long {
  std::string_view name, first, repeated, last;
  friend void PrintTo(const Long& text, std::ostream* out) { *out << text.name; }
};
class JsonTreeOf : public ::testing::TestWithParam<Long> {};

// Exceeding either limit terminates the program.
TEST_P(JsonTreeOf, LongTextsTakesMemoryAndTimeInProportion) {
  constexpr std::size_t size = std::size_t{1} << 20;
  const Long& repeats = GetParam();
  std::string text(repeats.first);
  while (text.size() < size) text += repeats.repeated;
  text += repeats.last == "]]" ? std::string(text.size(), ']') : std::string(repeats.last);
  const fuzz::Budget budget(size, {.bytes_per_input_byte = 32, .nanoseconds_per_input_byte = 2000});

  const auto tree = JsonTree::parse(text, {.max_depth = size * 2});

  ASSERT_TRUE(tree.ok()) << tree.error().message;
  EXPECT_FALSE(tree->root().find("no such key").has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Structures, JsonTreeOf,
    ::testing::Values(Long{"List", "[0", ",1", "]"}, Long{"ListOfEmptyLists", "[0", ",[]", "]"},
                      Long{"ObjectOfOneKey", "{\"\":0", ",\"\":0", "}"},
                      Long{"Nested", "", "[", "]]"}, Long{"PlainText", "\"", "a", "\""},
                      Long{"Escapes", "\"", "\\n", "\""}, Long{"Digits", "\"", "\\u20ac", "\""},
                      Long{"Characters", "\"", "\xe2\x82\xac", "\""},
                      Long{"TextsWithEscapes", "[0", ",\"\\n\"", "]"},
                      Long{"Blanks", "", " \n\r\t", "[]"}, Long{"Integer", "", "1", "e-2000000"},
                      Long{"Fraction", "0.", "1", ""}, Long{"Exponent", "0e", "1", ""},
                      Long{"Zeros", "0.", "0", "1"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(JsonKind, IsNamedAsInMessages) {
  EXPECT_EQ(name_of(JsonKind::null), "null");
  EXPECT_EQ(name_of(JsonKind::boolean), "a boolean");
  EXPECT_EQ(name_of(JsonKind::negative), "a number");
  EXPECT_EQ(name_of(JsonKind::count), "a number");
  EXPECT_EQ(name_of(JsonKind::fraction), "a fraction");
  EXPECT_EQ(name_of(JsonKind::text), "a string");
  EXPECT_EQ(name_of(JsonKind::array), "a list");
  EXPECT_EQ(name_of(JsonKind::object), "an object");
}

}  // namespace
}  // namespace gantry
