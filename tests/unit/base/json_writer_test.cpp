// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_writer.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>

namespace gantry {
namespace {

using Json = nlohmann::ordered_json;

void write(const Json& json, JsonWriter& writer) {
  if (json.is_object()) {
    writer.begin_object();
    for (const auto& [key, value] : json.items()) {
      writer.key(key);
      write(value, writer);
    }
    return writer.end();
  }
  if (json.is_array()) {
    writer.begin_list();
    for (const Json& item : json) write(item, writer);
    return writer.end();
  }
  if (json.is_null()) return writer.value(nullptr);
  if (json.is_boolean()) return writer.value(json.get<bool>());
  if (json.is_number_unsigned()) return writer.value(json.get<std::uint64_t>());
  if (json.is_number_integer()) return writer.value(json.get<std::int64_t>());
  if (json.is_number_float()) return writer.value(json.get<double>());
  writer.value(json.get<std::string>());
}

std::string written(const Json& json, JsonStyle style) {
  std::string text;
  JsonWriter writer([&](std::string_view piece) { text += piece; }, style);
  write(json, writer);
  return text;
}

// Every kind of value, and texts with every kind of character that must be escaped or replaced.
Json everything() {
  Json json = Json::parse(
      R"({"empty": {}, "none": [], "null": null, "deep": [[1, [2.5]], {"a": {"b": -3}}],
          "texts": ["plain", "qu\"ote", "back\\slash", "line\nbreak", "gr\u00fc\u00df \ud83d\udc04", "\u0001\u007f"],
          "k\"ey": true, "not": false, "large": 18446744073709551615, "least": -9223372036854775808,
          "whole": 3.0, "small": 1e-7, "huge": 1e300})");
  json["broken"] = {"caf\xe9", "\xe2\x82", "\xed\xa0\x80 \xff\xc3"};
  json["infinite"] = std::numeric_limits<double>::infinity();
  return json;
}

TEST(JsonWriter, WritesTheSameDocumentAsDump) {
  const Json json = everything();
  const auto replace = Json::error_handler_t::replace;

  EXPECT_EQ(written(json, {}), json.dump(2, ' ', false, replace));
  EXPECT_EQ(written(json, {.ascii = true}), json.dump(2, ' ', true, replace));
  EXPECT_EQ(written(json, {.lines = false}), json.dump(-1, ' ', false, replace));
}

// Every pair of bytes, followed by text that completes, continues or breaks off a UTF-8 sequence.
TEST(JsonWriter, ReplacesInvalidUtf8LikeDump) {
  const std::string endings[] = {
      "", "x", "\x80", "\xbf\xbf", "\x9f\x80z", "\xf0\x9f\x90\x84", "\"", "\xe2\x82\xac"};
  // Both ends of each class of second bytes.
  constexpr std::uint8_t seconds[] = {0x00, 0x1f, 0x20, '"',  '\\', 'x',  0x7f, 0x80, 0x8f, 0x90,
                                      0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec,
                                      0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
  for (int first = 0; first < 256; ++first) {
    for (const int second : seconds) {
      for (const std::string& ending : endings) {
        const Json json = {std::string{static_cast<char>(first), static_cast<char>(second)} +
                           ending};
        for (const bool ascii : {false, true}) {
          ASSERT_EQ(written(json, {.ascii = ascii}),
                    json.dump(2, ' ', ascii, Json::error_handler_t::replace))
              << first << ' ' << second << " and " << testing::PrintToString(ending);
        }
      }
    }
  }
}

TEST(JsonWriter, AppendsANewlineIfTheStyleHasOne) {
  EXPECT_EQ(written(Json::parse("[[]]"), {.ends_line = true}), "[\n  []\n]\n");
}

TEST(JsonWriter, WritesMembersVectorsAndOptionals) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; }, {.lines = false});

  json.begin_object();
  json.begin_object("inner");
  json.begin_list("none");
  json.end();
  json.end();
  json.field("lists", std::vector<std::vector<int>>{{1, 2}, {}});
  json.field("text", std::optional<std::string>("t"));
  json.field("none", std::optional<int>());
  json.end();

  EXPECT_EQ(text, R"({"inner":{"none":[]},"lists":[[1,2],[]],"text":"t","none":null})");
}

TEST(JsonWriter, PassesLongDocumentsToTheSinkInPieces) {
  std::size_t longest = 0, bytes = 0;
  JsonWriter writer([&](std::string_view piece) {
    longest = std::max(longest, piece.size());
    bytes += piece.size();
  });

  writer.begin_list();
  for (int i = 0; i < 50000; ++i) writer.value("ten bytes");
  for (int i = 0; i < 50000; ++i) writer.value(1234567890);
  writer.end();

  EXPECT_GT(bytes, 1'000'000u);
  EXPECT_LT(longest, 40'000u);
}

}  // namespace
}  // namespace gantry
