// SPDX-License-Identifier: Apache-2.0
#include "core/base/yaml/yaml_record.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kModes[] = {"auto", "always", "never"};
constexpr YamlField kKeyFields[] = {
    {.name = "key", .required = true},
    {.name = "aliases", .type = YamlType::list},
};
constexpr YamlField kFields[] = {
    {.name = "name", .longest = 8},
    {.name = "version", .type = YamlType::quoted_text},
    {.name = "priority", .type = YamlType::integer, .min = -10, .max = 10},
    {.name = "scale", .type = YamlType::number},
    {.name = "enabled", .type = YamlType::boolean},
    {.name = "probe", .type = YamlType::choice, .choices = kModes},
    {.name = "keys",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 2,
     .fields = kKeyFields},
    {.name = "config", .type = YamlType::map, .items = YamlType::scalar, .longest = 2},
    {.name = "first", .type = YamlType::record, .fields = kKeyFields},
    {.name = "even",
     .type = YamlType::integer,
     .check =
         [](const YamlValue& v) {
           return std::string((v.text.back() - '0') % 2 == 0 ? "" : "an even number");
         }},
    {.name = "odd",
     .type = YamlType::list,
     .items = YamlType::integer,
     .check_item =
         [](const YamlValue& v) {
           return std::string((v.text.back() - '0') % 2 == 1 ? "" : "an odd number");
         }},
    {.name = "notes", .type = YamlType::any},
};

TEST(YamlRecord, ReturnsCheckedValuesByKey) {
  const YamlDocument document = parse_yaml(
                                    "name: cuda\nversion: \"1.10\"\npriority: -3\nscale: "
                                    "2.5e1\nenabled: false\nprobe: never\n"
                                    "keys: [{key: a, aliases: [b, c]}, {key: d}]\nconfig: {x: 1, "
                                    "y: two}\nfirst: {key: e}\nnotes: [1, {a: b}]\n",
                                    "a.yaml")
                                    .value();

  const Result<YamlRecord> record = read_record(document, kFields);

  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_EQ(record->text("name"), "cuda");
  EXPECT_EQ(record->text("version"), "1.10");
  EXPECT_EQ(record->integer("priority"), -3);
  EXPECT_EQ(record->number("scale"), 25.0);
  EXPECT_FALSE(record->boolean("enabled", true));
  EXPECT_EQ(record->text("probe"), "never");
  ASSERT_EQ(record->records("keys").size(), 2u);
  EXPECT_THAT(record->records("keys")[0].texts("aliases"), ElementsAre("b", "c"));
  EXPECT_EQ(record->entries("config")[1].key, "y");
  EXPECT_EQ(record->record("first").text("key"), "e");
}

TEST(YamlRecord, ReturnsFallbacksForAbsentKeys) {
  const YamlDocument document = parse_yaml("# nothing\n", "a.yaml").value();

  const Result<YamlRecord> record = read_record(document, kFields);

  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_EQ(record->text("name", "none"), "none");
  EXPECT_EQ(record->integer("priority", 7), 7);
  EXPECT_EQ(record->number("scale", 0.5), 0.5);
  EXPECT_TRUE(record->boolean("enabled", true));
  EXPECT_TRUE(record->texts("keys").empty());
  EXPECT_TRUE(record->entries("config").empty());
  EXPECT_FALSE(record->record("first"));
  EXPECT_EQ(record->record("first").text("key", "k"), "k");
}

TEST(YamlRecord, LocatesAnErrorAtAListItem) {
  const YamlDocument document = parse_yaml("first: {key: a, aliases: [b, c]}\n", "a.yaml").value();
  const YamlRecord record = read_record(document, kFields).value();

  const Error error = record.record("first").item_error("aliases", 1, "is taken");

  EXPECT_EQ(error.message, "a.yaml:1:30: first.aliases[1]: is taken");
  EXPECT_EQ(error.offset, 29u);
}

TEST(YamlRecord, LocatesAnErrorAtAKey) {
  const YamlDocument document = parse_yaml("keys:\n  - {key: a}\n", "a.yaml").value();
  const YamlRecord record = read_record(document, kFields).value();

  EXPECT_EQ(record.records("keys")[0].error("key", "is taken").error().message,
            "a.yaml:2:11: keys[0].key: is taken");
  EXPECT_EQ(record.error("name", "is needed").error().message, "a.yaml:1:1: name: is needed");
}

struct BadRecord {
  std::string name;
  std::string text;
  std::uint64_t offset;
  std::string reason;
  std::string message;
};

class InvalidYamlRecord : public ::testing::TestWithParam<BadRecord> {};

TEST_P(InvalidYamlRecord, IsRejectedWithPathExpectedAndFound) {
  const BadRecord& bad = GetParam();
  const YamlDocument document = parse_yaml(bad.text, "a.yaml").value();

  const Result<YamlRecord> record = read_record(document, kFields);

  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.error().code, Code::malformed);
  EXPECT_EQ(record.error().message, bad.message);
  EXPECT_EQ(record.error().offset, bad.offset);
  EXPECT_EQ(record.error().reason, bad.reason);
}

INSTANTIATE_TEST_SUITE_P(
    Types, InvalidYamlRecord,
    ::testing::Values(
        BadRecord{"VersionUnquoted", "version: 1.10\n", 9, "YAML_TYPE",
                  "a.yaml:1:10: version: expected text in quotes, found \"1.10\": write it in "
                  "quotes, \"1.10\""},
        BadRecord{"TextThatIsANumber", "name: 010\n", 6, "YAML_TYPE",
                  "a.yaml:1:7: name: expected text, found \"010\": write it in quotes, \"010\""},
        BadRecord{"TextThatIsNo", "name: NO\n", 6, "YAML_TYPE",
                  "a.yaml:1:7: name: expected text, found \"NO\": write it in quotes, \"NO\""},
        BadRecord{"TextTooLong", "name: 'nine bytes'\n", 6, "YAML_RANGE",
                  "a.yaml:1:7: name: 10 bytes, limit is 8"},
        BadRecord{
            "TextMissing", "name:\n", 0, "YAML_TYPE",
            "a.yaml:1:1: name: expected text, found nothing: give it a value or remove the key"},
        BadRecord{"TextIsAList", "name: [a]\n", 6, "YAML_TYPE",
                  "a.yaml:1:7: name: expected text, found a list"},
        BadRecord{"Octal", "priority: 010\n", 10, "YAML_TYPE",
                  "a.yaml:1:11: priority: expected integer, found \"010\": a decimal number has no "
                  "leading zero"},
        BadRecord{"Hexadecimal", "priority: 0x3\n", 10, "YAML_TYPE",
                  "a.yaml:1:11: priority: expected integer, found \"0x3\""},
        BadRecord{"FractionForAnInteger", "priority: 0.5\n", 10, "YAML_TYPE",
                  "a.yaml:1:11: priority: expected integer, found \"0.5\""},
        BadRecord{"LargeFractionForAnInteger", "priority: 1.5\n", 10, "YAML_TYPE",
                  "a.yaml:1:11: priority: expected integer, found \"1.5\""},
        BadRecord{
            "QuotedInteger", "priority: \"3\"\n", 10, "YAML_TYPE",
            "a.yaml:1:11: priority: expected integer, found text \"3\": write it without quotes"},
        BadRecord{"TooLargeForAnyInteger", "priority: 99999999999999999999\n", 10, "YAML_TYPE",
                  "a.yaml:1:11: priority: expected integer, found \"99999999999999999999\""},
        BadRecord{"OverTheRange", "priority: 11\n", 10, "YAML_RANGE",
                  "a.yaml:1:11: priority: expected integer -10 to 10, found 11"},
        BadRecord{"UnderTheRange", "priority: -11\n", 10, "YAML_RANGE",
                  "a.yaml:1:11: priority: expected integer -10 to 10, found -11"},
        BadRecord{"NumberIsText", "scale: fast\n", 7, "YAML_TYPE",
                  "a.yaml:1:8: scale: expected number, found \"fast\""},
        BadRecord{"TruthIsYes", "enabled: yes\n", 9, "YAML_TYPE",
                  "a.yaml:1:10: enabled: expected true or false, found \"yes\""},
        BadRecord{"TruthIsQuoted", "enabled: 'true'\n", 9, "YAML_TYPE",
                  "a.yaml:1:10: enabled: expected true or false, found text \"true\": write it "
                  "without quotes"},
        BadRecord{"TruthIsQuotedYes", "enabled: 'yes'\n", 9, "YAML_TYPE",
                  "a.yaml:1:10: enabled: expected true or false, found text \"yes\""},
        BadRecord{"TooManyKeys", "config: {a: 1, b: 2, c: 3}\n", 8, "YAML_RANGE",
                  "a.yaml:1:9: config: 3 keys, limit is 2"},
        BadRecord{"WrongChoice", "probe: alway\n", 7, "YAML_RANGE",
                  "a.yaml:1:8: probe: expected auto, always or never, found \"alway\", did you "
                  "mean \"always\""},
        BadRecord{"ListIsText", "keys: cuda\n", 6, "YAML_TYPE",
                  "a.yaml:1:7: keys: expected a list, found \"cuda\""},
        BadRecord{"ListTooLong", "keys: [{key: a}, {key: b}, {key: c}]\n", 6, "YAML_RANGE",
                  "a.yaml:1:7: keys: 3 items, limit is 2"},
        BadRecord{"ItemIsText", "keys: [cuda]\n", 7, "YAML_TYPE",
                  "a.yaml:1:8: keys[0]: expected a map, found \"cuda\""},
        BadRecord{"ItemOfItem", "keys: [{key: a, aliases: [b, 7]}]\n", 29, "YAML_TYPE",
                  "a.yaml:1:30: keys[0].aliases[1]: expected text, found \"7\": write it in "
                  "quotes, \"7\""},
        BadRecord{"MapValueIsAList", "config: {x: [1]}\n", 12, "YAML_TYPE",
                  "a.yaml:1:13: config.x: expected a single value, found a list"},
        BadRecord{"MapIsAList", "config: []\n", 8, "YAML_TYPE",
                  "a.yaml:1:9: config: expected a map, found a list"},
        BadRecord{"UnknownKeyNear", "prority: 1\n", 0, "YAML_UNKNOWN_KEY",
                  "a.yaml:1:1: prority: unknown key, did you mean \"priority\""},
        BadRecord{"UnknownKeyFar", "first: {key: a, zzzzzz: b}\n", 16, "YAML_UNKNOWN_KEY",
                  "a.yaml:1:17: first.zzzzzz: unknown key, known keys are aliases or key"},
        BadRecord{"UnknownKeyForTools", "x-acme: 1\n", 0, "YAML_UNKNOWN_KEY",
                  "a.yaml:1:1: x-acme: unknown key, known keys are config, enabled, even, first, "
                  "keys, name, notes, odd, "
                  "priority, probe, scale or version"},
        BadRecord{"MissingKey", "keys: [{aliases: []}]\n", 7, "YAML_MISSING_KEY",
                  "a.yaml:1:8: keys[0].key: required key is missing"},
        BadRecord{"OwnCheckOfAnItem", "odd: [1, 4, 6]\n", 9, "YAML_TYPE",
                  "a.yaml:1:10: odd[1]: expected an odd number, found \"4\""},
        BadRecord{"TypeOfAnItem", "odd: [1, x]\n", 9, "YAML_TYPE",
                  "a.yaml:1:10: odd[1]: expected integer, found \"x\""},
        BadRecord{"OwnCheck", "even: 3\n", 6, "YAML_TYPE",
                  "a.yaml:1:7: even: expected an even number, found \"3\""},
        BadRecord{"RootIsAList", "- a\n", 0, "YAML_TYPE",
                  "a.yaml:1:1: expected a map, found a list"}),
    [](const auto& test) { return test.param.name; });

TEST(YamlRecord, SkipsXKeysIfAllowed) {
  const YamlDocument document = parse_yaml("x-acme: [1]\nname: a\n", "a.yaml").value();

  EXPECT_TRUE(read_record(document, kFields, {.skip_x_keys = true}).ok());
}

TEST(YamlRecord, ReportsUnknownKeysAsWarningsIfAllowed) {
  const YamlDocument document = parse_yaml("nmae: a\nfirst: {key: a, zz: b}\n", "a.yaml").value();
  std::vector<Message> warnings;

  const Result<YamlRecord> record = read_record(document, kFields, {.warnings = &warnings});

  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_THAT(warnings,
              ElementsAre("a.yaml:1:1: nmae: unknown key, did you mean \"name\"",
                          "a.yaml:2:17: first.zz: unknown key, known keys are aliases or key"));
}

TEST(YamlRecord, TruncatesALongFoundValueAtACharacter) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "\xc3\xa9";
  const YamlDocument document = parse_yaml("priority: a" + text + "\n", "a.yaml").value();

  const Result<YamlRecord> record = read_record(document, kFields);

  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.error().message,
            "a.yaml:1:11: priority: expected integer, found \"a" + text.substr(0, 58) + "...\"");
}

TEST(YamlScalar, HasTheTypeOfItsSpelling) {
  const YamlDocument document =
      parse_yaml("[1, -0, 1.5, .5, 1e3, true, 'true', \"1\", NO, ~x, 1.4.0, -, .]", "a.yaml")
          .value();
  const std::vector<YamlValue>& items = document.root.items;
  std::vector<bool> integers, numbers, booleans, texts;
  for (const YamlValue& item : items) {
    std::int64_t i = 0;
    double d = 0;
    bool b = false;
    integers.push_back(yaml_integer(item, i));
    numbers.push_back(yaml_number(item, d));
    booleans.push_back(yaml_boolean(item, b));
    texts.push_back(yaml_text(item));
  }

  //                                1  -0  1.5 .5  1e3 true 'true' "1" NO ~x 1.4.0 -  .
  EXPECT_THAT(integers, ElementsAre(1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(numbers, ElementsAre(1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(booleans, ElementsAre(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(texts, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1));
}

TEST(YamlRecord, AcceptsValuesAtTheirLimits) {
  for (const char* const text : {"priority: 10\n", "priority: -10\n", "name: 'is eight'\n",
                                 "keys: [{key: a}, {key: b}]\n", "config: {a: 1, b: 2}\n"}) {
    const YamlDocument document = parse_yaml(text, "a.yaml").value();

    EXPECT_TRUE(read_record(document, kFields).ok()) << text;
  }
}

TEST(YamlRecord, SkipsOnlyXKeysIfTheyAreAllowed) {
  const YamlDocument document = parse_yaml("nmae: a\n", "a.yaml").value();

  const Result<YamlRecord> record = read_record(document, kFields, {.skip_x_keys = true});

  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.error().reason, "YAML_UNKNOWN_KEY");
}

TEST(YamlFound, QuotesSixtyBytes) {
  YamlValue value;
  value.kind = YamlKind::scalar;
  value.text = std::string(60, 'a');
  EXPECT_EQ(yaml_found(value), "\"" + value.text + "\"");

  value.text += 'b';
  EXPECT_EQ(yaml_found(value), "\"" + std::string(60, 'a') + "...\"");
}

TEST(YamlScalar, ReadsTheValueOfAnInteger) {
  const YamlDocument document = parse_yaml("[0, 9, 10, 90, -7]", "a.yaml").value();
  std::vector<std::int64_t> numbers;
  for (const YamlValue& item : document.root.items) {
    EXPECT_TRUE(yaml_integer(item, numbers.emplace_back())) << item.text;
  }

  EXPECT_THAT(numbers, ElementsAre(0, 9, 10, 90, -7));
}

TEST(YamlScalar, IsNoTextIfAReaderMayTakeItForSomethingElse) {
  const YamlDocument document = parse_yaml(
                                    "[+5, 0x3, 0o7, 0b1, .inf, -.nan, .Inf, .NaN, 1E3, 1e-3, 1e+3, "
                                    "FALSE, nULL, on, Off, yes]",
                                    "a")
                                    .value();
  for (const YamlValue& item : document.root.items) EXPECT_FALSE(yaml_text(item)) << item.text;
}

// Names of tensors, which need no quotes as keys either.
TEST(YamlScalar, IsATextIfItIsALetter) {
  const YamlDocument document = parse_yaml("[y, n, Y, N]", "a").value();
  for (const YamlValue& item : document.root.items) {
    bool boolean = false;
    EXPECT_TRUE(yaml_text(item)) << item.text;
    EXPECT_FALSE(yaml_boolean(item, boolean)) << item.text;
  }
}

TEST(YamlScalar, IsATextIfItOnlyBeginsLikeANumber) {
  const YamlDocument document =
      parse_yaml("[1x5, 1x3, 1ex, 1.5e1x, inf, nan, .info, 0y1, falsehood]", "a").value();
  for (const YamlValue& item : document.root.items) {
    double number = 0;
    EXPECT_TRUE(yaml_text(item)) << item.text;
    EXPECT_FALSE(yaml_number(item, number)) << item.text;
  }
}

TEST(YamlScalar, HasNoTypeIfItIsAListAMapOrEmpty) {
  const YamlDocument document = parse_yaml("[[], {}, ]\n", "a").value();
  YamlValue nothing;
  for (const YamlValue& item : {document.root.items[0], document.root.items[1], nothing}) {
    std::int64_t i = 0;
    double d = 0;
    bool b = false;
    EXPECT_FALSE(yaml_integer(item, i) || yaml_number(item, d) || yaml_boolean(item, b) ||
                 yaml_text(item));
  }
}

}  // namespace
}  // namespace gantry
