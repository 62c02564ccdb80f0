// SPDX-License-Identifier: Apache-2.0
//
// gantry/message.hpp - Message, the text of an error, a warning or a log entry. Names from outside
// (of files, symbols, plugins, variables) cannot add a line to it: every part is escaped, and lines
// are added by functions only.
//
//     Message text("symbol ", name, " is undefined");
//     text.at("in ", path);
#pragma once

#include <gantry/concat.hpp>
#include <gantry/utf8.hpp>

#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>

namespace gantry {

// Each line but the first begins with two blanks at least.
class Message {
 public:
  Message() = default;
  // One line. Every part is escaped, literals included; a part that is a Message keeps its lines.
  //
  // parts    [in]   as for concat()
  template <class... Parts>
  requires(sizeof...(Parts) > 0 && (std::constructible_from<TextPiece, const Parts&> && ...))
      Message(const Parts&... parts) {  // NOLINT: implicit by design
    append({TextPiece(parts)...});
  }

  // Returns a text that other code has written, for example a plugin or a compiler. Its line breaks
  // remain; two blanks are inserted before a later line that begins with fewer, and empty lines are
  // left out. Everything else is escaped.
  [[gnu::cold]] static Message lines(std::string_view text) {
    Message message;
    for_each_line(text, [&](std::string_view line) {
      if (!message.empty()) message.text_ += line.starts_with("  ") ? "\n" : "\n  ";
      append_escaped(message.text_, line);
    });
    return message;
  }

  // Adds a line of context.
  template <class... Parts>
  Message& at(const Parts&... parts) {
    append_line({TextPiece(parts)...});
    return *this;
  }
  // Adds each line of a text that other code has written, without the empty ones.
  [[gnu::cold]] Message& at_lines(std::string_view text) {
    for_each_line(text, [&](std::string_view line) { at(line); });
    return *this;
  }
  [[gnu::cold]] void append_line(std::initializer_list<TextPiece> parts) {
    text_ += "\n  ";
    append(parts);
  }
  // Appends to the last line.
  [[gnu::cold]] void append(std::initializer_list<TextPiece> parts) {
    for (const TextPiece& part : parts) {
      if (part.is_message()) {
        text_ += part.text();
      } else {
        append_escaped(text_, part.text());
      }
    }
  }

  const std::string& text() const { return text_; }
  operator const std::string&() const { return text_; }  // NOLINT: implicit by design
  operator std::string_view() const { return text_; }    // NOLINT
  const char* c_str() const { return text_.c_str(); }
  bool empty() const { return text_.empty(); }

  friend bool operator==(const Message& a, const Message& b) { return a.text_ == b.text_; }
  friend bool operator==(const Message& a, const std::convertible_to<std::string_view> auto& b) {
    return a.text_ == b;
  }
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to,
                                                      const Message& message) {
    return to << message.text_;
  }

 private:
  // Omits empty lines.
  template <class Visit>
  static void for_each_line(std::string_view text, Visit visit) {
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view line = text.substr(at, text.find('\n', at) - at);
      at += line.size() + 1;
      if (!line.empty()) visit(line);
    }
  }

  std::string text_;
};

}  // namespace gantry
