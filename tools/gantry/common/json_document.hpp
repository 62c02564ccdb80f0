// SPDX-License-Identifier: Apache-2.0
//
// JSON as --json prints it: keys in the order in which they are written, one document on stdout, ASCII
// only. Texts from files go through json_text() first.
#pragma once

#include "core/base/json_writer.hpp"
#include "tools/gantry/common/escape.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gantry::cli {

constexpr JsonStyle json_style = {.lines = true, .ascii = true, .ends_line = true};

// A document that is small enough to be held, so that it is printed whole or not at all.
//
// write    [in]   void(JsonWriter&), the members of the object that the document is
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
  json.key(key);
  json.begin_list();
  for (const std::string_view text : all) json.value(json_text(text));
  json.end();
}

}  // namespace gantry::cli
