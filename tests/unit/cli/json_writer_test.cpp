// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/json_writer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gantry::cli {
namespace {

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
  writer.value(json);
}

std::string written(const Json& json) {
  std::string text;
  JsonWriter writer([&](std::string_view piece) { text += piece; });
  write(json, writer);
  return text;
}

TEST(JsonWriter, WritesWhatADocumentWrittenWholeIs) {
  const Json json =
      Json::parse(R"({"empty": {}, "none": [], "null": null, "deep": [[1, [2.5]], {"a": {"b": -3}}],
                                    "texts": ["plain", "qu\"ote", "back\\slash", "line\nbreak", "gr\u00fc\u00df"],
                                    "k\"ey": true, "large": 18446744073709551615})");

  EXPECT_EQ(written(json), document_text(json));
}

TEST(JsonWriter, IndentsADocumentThatIsGivenWhole) {
  const Json inner = Json::parse(R"({"a": [1, 2], "b": {}})");
  std::string text;
  JsonWriter writer([&](std::string_view piece) { text += piece; });

  writer.begin_object();
  writer.field("inner", inner);
  writer.end();

  EXPECT_EQ(text, document_text(Json{{"inner", inner}}));
}

TEST(JsonWriter, HandsOverLongDocumentsInPieces) {
  std::size_t longest = 0, bytes = 0;
  JsonWriter writer([&](std::string_view piece) {
    longest = std::max(longest, piece.size());
    bytes += piece.size();
  });

  writer.begin_list();
  for (int i = 0; i < 100000; ++i) writer.value("ten bytes");
  writer.end();

  EXPECT_GT(bytes, 1'000'000u);
  EXPECT_LT(longest, 40'000u);
}

}  // namespace
}  // namespace gantry::cli
