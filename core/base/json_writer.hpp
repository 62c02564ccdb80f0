// SPDX-License-Identifier: Apache-2.0
//
// A streaming JSON writer. Its output equals that of nlohmann::json's dump() byte for byte. It
// builds no tree: the destructor of nlohmann's tree allocates, and a failure there cannot be
// reported.
//
//     JsonWriter json(print);
//     json.begin_object();
//     json.field("size", 12);
//     json.begin_list("modules");
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
  // one value per line, indented by two spaces; false: no white space
  bool lines = true;
  // characters outside ASCII as \uXXXX
  bool ascii = false;
  // append a newline to the document
  bool ends_line = false;
};

class JsonWriter {
 public:
  using Sink = std::function<void(std::string_view piece)>;

  explicit JsonWriter(Sink sink, JsonStyle style = {}) : sink_(std::move(sink)), style_(style) {}

  void begin_object() { begin('{', '}'); }
  void begin_list() { begin('[', ']'); }
  // Ends the innermost object or list. Ending the outermost one passes all pending text to the
  // sink.
  void end();

  // The key of the next value. Precondition: inside an object, which has no such key yet.
  void key(std::string_view name);

  void begin_object(std::string_view name) {
    key(name);
    begin_object();
  }
  void begin_list(std::string_view name) {
    key(name);
    begin_list();
  }

  // A list item, or the value of the last key. Bytes of a text that are not UTF-8 are replaced.
  void value(std::string_view text);
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  void value(std::nullptr_t) { literal("null"); }
  void value(double number);
  // A number that the caller has formatted: "12.500".
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
  // Writes the comma and line break that the next value requires.
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
