// SPDX-License-Identifier: Apache-2.0
//
// gantry/concat.hpp - joins texts and numbers: concat("edge ", 3, " names module ", 4).
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace gantry {

// A number that is printed as 0x1c40. Use it for offsets and addresses; counts and sizes are
// decimal.
struct Hex {
  std::uint64_t value;
};

class Message;

// One part of a text: a text, a Message, a character, a boolean, or a number, whose digits it
// contains. Not copied.
class TextPiece {
 public:
  TextPiece(std::string_view text) : text_(text) {}     // NOLINT: implicit by design
  TextPiece(const std::string& text) : text_(text) {}   // NOLINT
  TextPiece(const char* text) : text_(text) {}          // NOLINT
  TextPiece(const std::same_as<Message> auto& message)  // NOLINT
      : text_(message.text()), is_message_(true) {}
  TextPiece(char c) : text_(digits_, 1) { digits_[0] = c; }                      // NOLINT
  TextPiece(std::same_as<bool> auto truth) : text_(truth ? "true" : "false") {}  // NOLINT
  TextPiece(std::signed_integral auto number) { write(std::int64_t{number}); }   // NOLINT
  TextPiece(std::unsigned_integral auto number)                                  // NOLINT
      requires(!std::same_as<decltype(number), bool>) {
    write(std::uint64_t{number});
  }
  TextPiece(float number) { write(number); }    // NOLINT
  TextPiece(double number) { write(number); }   // NOLINT
  TextPiece(Hex hex) { write_hex(hex.value); }  // NOLINT
  TextPiece(const TextPiece&) = delete;
  TextPiece& operator=(const TextPiece&) = delete;

  std::string_view text() const { return text_; }
  bool is_message() const { return is_message_; }

 private:
  // Enough for every integer and for the shortest form of every double.
  static constexpr std::size_t kMaxDigits = 32;

  // One function for all types of a sign: to_chars() is large, and texts are joined in many places.
  template <class Number>
  void write(Number number) {
    const auto end = std::to_chars(digits_, digits_ + kMaxDigits, number).ptr;
    text_ = {digits_, static_cast<std::size_t>(end - digits_)};
  }
  void write_hex(std::uint64_t number) {
    digits_[0] = '0';
    digits_[1] = 'x';
    const auto end = std::to_chars(digits_ + 2, digits_ + kMaxDigits, number, 16).ptr;
    text_ = {digits_, static_cast<std::size_t>(end - digits_)};
  }

  std::string_view text_;
  bool is_message_ = false;
  char digits_[kMaxDigits];
};

// Appends the pieces in order. Throws std::bad_alloc only.
inline void append(std::string& to, std::initializer_list<TextPiece> pieces) {
  for (const TextPiece& piece : pieces) to.append(piece.text());
}

// Escapes nothing: for paths, tags and code. Texts for people are Messages.
//
// parts    [in]   strings, Messages, characters, booleans, numbers and Hex
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  append(text, {TextPiece(parts)...});
  return text;
}

}  // namespace gantry
