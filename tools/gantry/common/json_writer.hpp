// SPDX-License-Identifier: Apache-2.0
//
// One JSON document, written piece by piece, byte for byte as document_text() prints it whole.
//
//     JsonWriter json(print);
//     json.begin_object();
//     json.field("size", 12);
//     json.key("modules");
//     json.begin_list();
//     for (...) json.value(...);
//     json.end();
//     json.end();
#pragma once

#include "tools/gantry/common/json.hpp"
#include "tools/gantry/common/text_sink.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

class JsonWriter {
 public:
  explicit JsonWriter(TextSink sink) : sink_(std::move(sink)) {}

  void begin_object() { begin('{', '}'); }
  void begin_list() { begin('[', ']'); }
  // The innermost object or list; the outermost ends the document with a line break.
  void end();

  // Of the value that comes next. Precondition: in an object; each key once.
  void key(std::string_view name);
  // In a list, or behind a key.
  void value(const Json& value);
  void field(std::string_view name, const Json& content) {
    key(name);
    value(content);
  }

 private:
  struct Level {
    char closing;
    bool empty = true;
  };

  void begin(char opening, char closing);
  // What stands between the value before and this one.
  void separate();
  void break_line();
  void append_text(std::string_view text);
  void hand_over(std::size_t more_than);

  TextSink sink_;
  std::string pending_;
  std::vector<Level> levels_;
  bool behind_key_ = false;
};

}  // namespace gantry::cli
