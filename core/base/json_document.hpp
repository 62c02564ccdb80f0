// SPDX-License-Identifier: Apache-2.0
//
// The JSON that --json prints: one document, ASCII only, keys in the order in which they are
// written. Texts from files must pass through json_text() first.
#pragma once

#include "core/base/escape.hpp"
#include "core/base/json_writer.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

constexpr JsonStyle json_style = {.lines = true, .ascii = true, .ends_line = true};

// Returns a whole document, so that it is printed completely or not at all. For documents that are
// small enough for memory.
//
// write    [in]   void(JsonWriter&), writes the members of the top-level object
template <class Write>
std::string json_document(Write&& write) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; }, json_style);
  json.begin_object();
  std::forward<Write>(write)(json);
  json.end();
  return text;
}

inline std::optional<std::string> text_or_null(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(json_text(text));
}

template <class Texts>
void write_texts(std::string_view key, const Texts& all, JsonWriter& json) {
  json.begin_list(key);
  for (const std::string_view text : all) json.value(json_text(text));
  json.end();
}

// Writes a list of objects under `key`.
//
// write    [in]   void(const Item&, JsonWriter&), writes the members of one item
template <class Items, class Write>
void write_objects(std::string_view key, const Items& items, JsonWriter& json, Write write) {
  json.begin_list(key);
  for (const auto& item : items) {
    json.begin_object();
    write(item, json);
    json.end();
  }
  json.end();
}

}  // namespace gantry
