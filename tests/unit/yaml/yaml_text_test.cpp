// SPDX-License-Identifier: Apache-2.0
#include "core/base/yaml/yaml_text.hpp"
#include "tests/support/thread_stack.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::HasSubstr;

Result<YamlDocument> parse(std::string_view text) { return parse_yaml(text, "a.yaml"); }

TEST(YamlText, KeepsMapsInFileOrderWithLocations) {
  const Result<YamlDocument> document = parse("zebra: 1\nape: \"two\"\n");

  ASSERT_TRUE(document.ok()) << document.error().message;
  const YamlValue& root = document->root;
  ASSERT_EQ(root.kind, YamlKind::map);
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[0].key, "zebra");
  EXPECT_EQ(root.entries[0].value.text, "1");
  EXPECT_FALSE(root.entries[0].value.quoted);
  EXPECT_EQ(root.entries[1].key, "ape");
  EXPECT_TRUE(root.entries[1].value.quoted);
  EXPECT_EQ(root.entries[1].value.location.line, 2u);
  EXPECT_EQ(root.entries[1].value.location.column, 6u);
  EXPECT_EQ(root.entries[1].value.location.offset, 14u);
}

TEST(YamlText, ReadsBlockAndFlowFormsAlike) {
  for (const std::string_view text :
       {"keys:\n  - {key: cuda}\n  - key: opencl\n", "{keys: [{key: cuda}, {key: opencl}]}"}) {
    const Result<YamlDocument> document = parse(text);

    ASSERT_TRUE(document.ok()) << document.error().message;
    const YamlValue* keys = document->root.find("keys");
    ASSERT_NE(keys, nullptr);
    ASSERT_EQ(keys->kind, YamlKind::list);
    ASSERT_EQ(keys->items.size(), 2u);
    EXPECT_EQ(keys->items[0].find("key")->text, "cuda");
    EXPECT_EQ(keys->items[1].find("key")->text, "opencl");
  }
}

TEST(YamlText, RecordsWhetherAScalarIsQuoted) {
  const Result<YamlDocument> document =
      parse("plain: a\nsingle: 'a'\ndouble: \"a\"\nblock: |\n  a\nfolded: >\n  a\n");

  ASSERT_TRUE(document.ok()) << document.error().message;
  EXPECT_FALSE(document->root.find("plain")->quoted);
  for (const std::string_view key : {"single", "double", "block", "folded"}) {
    EXPECT_TRUE(document->root.find(key)->quoted) << key;
  }
}

TEST(YamlText, CountsColumnsInCharactersAndOffsetsInBytes) {
  const Result<YamlDocument> document = parse("\xc3\xa9\xe2\x82\xac: x\n");

  ASSERT_TRUE(document.ok()) << document.error().message;
  EXPECT_EQ(document->root.entries[0].value.location.column, 5u);
  EXPECT_EQ(document->root.entries[0].value.location.offset, 7u);
}

// Around each multiple of the stride at which the parser stores a number of characters.
TEST(YamlText, CountsColumnsOfLongLines) {
  std::string text = "[";
  for (int i = 0; i < 100; ++i) text += "\xc3\xa9, ";
  text += "\n";
  for (int i = 0; i < 100; ++i) text += "\xe2\x82\xac, ";
  text += "x]";

  const Result<YamlDocument> document = parse(text);

  ASSERT_TRUE(document.ok()) << document.error().message;
  const std::vector<YamlValue>& items = document->root.items;
  ASSERT_EQ(items.size(), 201u);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(items[i].location.column, 2 + 3 * i);
    EXPECT_EQ(items[i].location.offset, 1 + 4 * i);
    EXPECT_EQ(items[100 + i].location.line, 2u);
    EXPECT_EQ(items[100 + i].location.column, 1 + 3 * i);
  }
  EXPECT_EQ(items[200].location.column, 301u);
}

// The end of a text is a place, too: around each multiple of the stride.
TEST(YamlText, LocatesErrorsAtTheEndOfATextOfAnySize) {
  for (std::size_t size = 2; size <= 4 * 64 + 1; ++size) {
    const std::string open = "\"" + std::string(size - 1, 'x');
    const Result<YamlDocument> quote = parse(open);
    const Result<YamlDocument> control = parse(std::string(size - 1, 'x') + "\x04");

    ASSERT_FALSE(quote.ok());
    EXPECT_EQ(quote.error().offset, size);
    EXPECT_THAT(quote.error().message.text(),
                ::testing::StartsWith(concat("a.yaml:1:", size + 1, ": ")));
    ASSERT_FALSE(control.ok());
    EXPECT_EQ(control.error().offset, size - 1);
    EXPECT_THAT(control.error().message.text(),
                ::testing::StartsWith(concat("a.yaml:1:", size, ": ")));
  }
}

TEST(YamlText, GivesAnEmptyValueTheLocationOfItsKey) {
  const Result<YamlDocument> document = parse("first: x\nsecond:\nthird: x\n");

  ASSERT_TRUE(document.ok()) << document.error().message;
  EXPECT_EQ(document->root.entries[1].value.kind, YamlKind::nothing);
  EXPECT_EQ(document->root.entries[1].value.location.line, 2u);
}

TEST(YamlText, GivesAnEmptyItemItsOwnLocation) {
  const Result<YamlDocument> document = parse("a:\n  - x\n  -\n  - y\n");

  ASSERT_TRUE(document.ok()) << document.error().message;
  const YamlValue& item = document->root.entries[0].value.items[1];
  EXPECT_EQ(item.kind, YamlKind::nothing);
  EXPECT_GE(item.location.line, 3u);
}

TEST(YamlText, AcceptsTabsBehindTheIndentationAndCarriageReturns) {
  const Result<YamlDocument> document = parse("a: 1\t# one\r\nb:\t2\r\n");

  ASSERT_TRUE(document.ok()) << document.error().message;
  EXPECT_EQ(document->root.find("a")->text, "1");
  EXPECT_EQ(document->root.find("b")->text, "2");
}

TEST(YamlText, AcceptsAQuotedMergeKey) {
  const Result<YamlDocument> document = parse("'<<': 1\n");

  ASSERT_TRUE(document.ok()) << document.error().message;
  EXPECT_EQ(document->root.entries[0].key, "<<");
}

TEST(YamlText, ParsesAnEmptyTextToNothing) {
  for (const std::string_view text : {"", "# only a comment\n", "---\n"}) {
    const Result<YamlDocument> document = parse(text);

    ASSERT_TRUE(document.ok()) << document.error().message;
    EXPECT_EQ(document->root.kind, YamlKind::nothing);
  }
}

struct BadText {
  std::string name;
  std::string text;
  std::uint64_t offset;
  std::string reason;
  std::string message;
};

class InvalidYamlText : public ::testing::TestWithParam<BadText> {};

TEST_P(InvalidYamlText, IsRejectedWithLocationAndReason) {
  const BadText& bad = GetParam();

  const Result<YamlDocument> document = parse(bad.text);

  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.error().code, Code::malformed);
  EXPECT_EQ(document.error().message, bad.message);
  EXPECT_EQ(document.error().offset, bad.offset);
  EXPECT_EQ(document.error().reason, bad.reason);
}

using namespace std::string_literals;

INSTANTIATE_TEST_SUITE_P(
    Text, InvalidYamlText,
    ::testing::Values(
        BadText{"DuplicateKey", "a: 1\nb: 2\na: 3\n", 10, "YAML_DUPLICATE_KEY",
                "a.yaml:3:1: a: key \"a\" is repeated, first in line 1"},
        BadText{"DuplicateKeyInside", "t:\n  - {x: 1,\n     x: 2}\n", 19, "YAML_DUPLICATE_KEY",
                "a.yaml:3:6: t[0].x: key \"x\" is repeated, first in line 2"},
        BadText{"DuplicateKeyOnceQuoted", "a: 1\n\"a\": 3\n", 5, "YAML_DUPLICATE_KEY",
                "a.yaml:2:1: a: key \"a\" is repeated, first in line 1"},
        BadText{"Anchor", "a: &x 1\n", 3, "YAML_ALIAS",
                "a.yaml:1:4: a: anchor is not supported, repeat the value where it is needed"},
        BadText{"AnchorOnAMap", "a: &x\n  b: 1\n", 3, "YAML_ALIAS",
                "a.yaml:1:4: a: anchor is not supported, repeat the value where it is needed"},
        BadText{"AnchorOnNothing", "a: &x\n", 3, "YAML_ALIAS",
                "a.yaml:1:4: a: anchor is not supported, repeat the value where it is needed"},
        BadText{"Alias", "a: *x\n", 3, "YAML_ALIAS",
                "a.yaml:1:4: alias is not supported, repeat the value"},
        BadText{"MergeKey", "a:\n  <<: {b: 1}\n", 5, "YAML_ALIAS",
                "a.yaml:2:3: a: merge key is not supported, repeat the keys"},
        BadText{"Tag", "a: !!int 1\n", 3, "YAML_TAG",
                "a.yaml:1:4: a: tag is not supported, the key has a fixed type"},
        BadText{"LocalTagOnAList", "a: !x [1]\n", 3, "YAML_TAG",
                "a.yaml:1:4: a: tag is not supported, the key has a fixed type"},
        BadText{"TagOnQuotedText", "a: ! \"x\"\n", 3, "YAML_TAG",
                "a.yaml:1:4: a: tag is not supported, the key has a fixed type"},
        BadText{"TagAtTheBeginning", "!x 1\n", 0, "YAML_TAG",
                "a.yaml:1:1: tag is not supported, the key has a fixed type"},
        BadText{"TagBeforeAnAnchor", "a: !x &y 1\n", 3, "YAML_ALIAS",
                "a.yaml:1:4: a: anchor is not supported, repeat the value where it is needed"},
        BadText{"ClosesWithoutAList", "a: ]\n", 3, "YAML_SYNTAX",
                "a.yaml:1:4: YAML syntax: illegal flow end"},
        BadText{"LastControlCharacter", "a: \x1f\n", 3, "YAML_CONTROL_CHARACTER",
                "a.yaml:1:4: control character 0x1f"},
        BadText{"Delete", "a: \x7f\n", 3, "YAML_CONTROL_CHARACTER",
                "a.yaml:1:4: control character 0x7f"},
        BadText{"SecondDocument", "a: 1\n---\nb: 2\n", 5, "YAML_SECOND_DOCUMENT",
                "a.yaml:2:1: second document, expected one"},
        BadText{"TabInFront", "a:\n\tb: 1\n", 3, "YAML_TAB",
                "a.yaml:2:1: tab in the indentation, expected spaces"},
        BadText{"TabAfterSpaces", "a:\n  \tb: 1\n", 5, "YAML_TAB",
                "a.yaml:2:3: tab in the indentation, expected spaces"},
        BadText{"Nul", "a: 1\0"s, 4, "YAML_CONTROL_CHARACTER", "a.yaml:1:5: control character 0x0"},
        BadText{"EndOfTransmission", "a: 1\n\x04\nb: 2\n", 5, "YAML_CONTROL_CHARACTER",
                "a.yaml:2:1: control character 0x4"},
        BadText{"LoneContinuation", "a: \x80", 3, "YAML_NOT_UTF8",
                "a.yaml:1:4: byte 0x80 is not UTF-8"},
        BadText{"Overlong", "a: \xc0\xaf", 3, "YAML_NOT_UTF8",
                "a.yaml:1:4: byte 0xc0 is not UTF-8"},
        BadText{"OverlongOfThree", "a: \xe0\x80\xaf", 3, "YAML_NOT_UTF8",
                "a.yaml:1:4: byte 0xe0 is not UTF-8"},
        BadText{"Surrogate", "a: \xed\xa0\x80", 3, "YAML_NOT_UTF8",
                "a.yaml:1:4: byte 0xed is not UTF-8"},
        BadText{"PastUnicode", "a: \xf4\x90\x80\x80", 3, "YAML_NOT_UTF8",
                "a.yaml:1:4: byte 0xf4 is not UTF-8"},
        BadText{"CutCharacter", "a: \xe2\x82", 3, "YAML_NOT_UTF8",
                "a.yaml:1:4: byte 0xe2 is not UTF-8"},
        BadText{"ByteOrderMark",
                "\xef\xbb\xbf"
                "a: 1\n",
                0, "YAML_NOT_UTF8", "a.yaml:1:1: byte order mark, expected plain UTF-8"},
        BadText{"EmptyKey", ": 1\n", 0, "YAML_SYNTAX", "a.yaml:1:1: key is empty"},
        BadText{"ListAsKey", "? [a]\n: 1\n", 2, "YAML_SYNTAX",
                "a.yaml:1:3: key is a list or a map, expected text"},
        BadText{"Unclosed", "a: [1, 2\n", 9, "YAML_SYNTAX",
                "a.yaml:2:1: YAML syntax: end of sequence flow not found"},
        BadText{"SeventeenDeep", "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", 16, "YAML_TOO_DEEP",
                "a.yaml:1:17: nesting depth 17, limit is 16"}),
    [](const auto& test) { return test.param.name; });

TEST(YamlText, AcceptsTheMaximumDepth) {
  EXPECT_TRUE(parse("[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]").ok());
}

TEST(YamlText, RejectsATextOverTheSizeLimit) {
  const Result<YamlDocument> document = parse_yaml("a: 123", "a.yaml", {.bytes = 5});

  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.error().message, "a.yaml: 6 bytes, limit is 5 bytes");
  EXPECT_EQ(document.error().reason, "YAML_TOO_LARGE");
  EXPECT_TRUE(parse_yaml("a: 12", "a.yaml", {.bytes = 5}).ok());
}

// The largest file that consists of opening brackets, on a stack that a deep recursion would
// overflow.
TEST(YamlText, RejectsDeepNestingOnASmallStack) {
  for (const std::string_view opening :
       {"[", "{", "- ", "? ", "[? ", "{a: ", "- ? ", "[{a: ", "\"a\": ["}) {
    std::string text;
    while (text.size() + opening.size() <= 64 * 1024) text.append(opening);
    Error error;

    test::run_with_stack(256 * 1024, [&] {
      const Result<YamlDocument> document = parse(text);
      if (!document.ok()) error = document.error();
    });

    EXPECT_EQ(error.code, Code::malformed) << opening << " " << error.message;
    EXPECT_THAT(error.message, HasSubstr("a.yaml:1:")) << opening;
  }
}

TEST(YamlText, ParsesOrRejectsEveryTruncationOfAManifest) {
  const std::string whole =
      "schema: \"1.0\"\nkeys:\n  - {key: cuda, aliases: ['a', \"b\"]}\nx: |\n  text\n  more\n";
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const Result<YamlDocument> document = parse(std::string_view(whole).substr(0, size));
    EXPECT_TRUE(document.ok() || document.error().code == Code::malformed) << size;
  }
}

TEST(YamlPath, JoinsKeysAndIndices) {
  EXPECT_EQ(yaml_path("", "keys"), "keys");
  EXPECT_EQ(yaml_path(yaml_path("keys", 2), "payload"), "keys[2].payload");
}

}  // namespace
}  // namespace gantry
