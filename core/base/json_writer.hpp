// SPDX-License-Identifier: Apache-2.0
//
// One JSON document, written piece by piece; byte for byte what nlohmann::json's dump() makes of the same values.
// There is no tree of it: nlohmann's allocates in its destructor, where no failure can be told.
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

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct JsonStyle {
  // one value a line, indented by two; false: no blanks at all
  bool lines = true;
  // other characters as \uXXXX
  bool ascii = false;
  // a line break behind the document
  bool ends_line = false;
};

class JsonWriter {
 public:
  using Sink = std::function<void(std::string_view piece)>;

  explicit JsonWriter(Sink sink, JsonStyle style = {}) : sink_(std::move(sink)), style_(style) {}

  void begin_object() { begin('{', '}'); }
  void begin_list() { begin('[', ']'); }
  // The innermost object or list; with the outermost all is handed over.
  void end();

  // Of the value that comes next. Precondition: in an object; each key once.
  void key(std::string_view name);

  // In a list, or behind a key. Bytes of a text that are no UTF-8 are replaced.
  void value(std::string_view text);
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  void value(std::nullptr_t) { literal("null"); }
  void value(double number);
  // A number that the caller has written: "12.500".
  void number(std::string_view digits) { literal(digits); }
  template <std::same_as<bool> Bool>
  void value(Bool truth) {
    literal(truth ? "true" : "false");
  }
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) void value(Number number) {
    literal(std::to_string(number));
  }
  template <class T>
  void value(const std::optional<T>& content) {
    content ? value(*content) : value(nullptr);
  }
  template <class T>
  void value(const std::vector<T>& list) {
    begin_list();
    for (const auto& item : list) value(item);
    end();
  }

  template <class T>
  void field(std::string_view name, const T& content) {
    key(name);
    value(content);
  }

 private:
  struct Level {
    char closing;
    bool empty = true;
  };

  void begin(char opening, char closing);
  void literal(std::string_view text);
  // What stands between the value before and this one.
  void separate();
  void break_line();
  void hand_over(std::size_t more_than);

  Sink sink_;
  JsonStyle style_;
  std::string pending_;
  std::vector<Level> levels_;
  bool behind_key_ = false;
};

}  // namespace gantry
