// SPDX-License-Identifier: Apache-2.0
//
// gantry/json_parser.hpp - parses untrusted JSON text into one flat list of its values and keys.
//
//     {"a": [1, "b"]}      0 {object, 1 member, ends at 5}
//                          1 "a"   2 {array, 2 items, ends at 5}   3 {1}   4 {"b"}
//
// JsonTree (json_tree.hpp) is the public interface to the list.
#pragma once

#include <gantry/quoted.hpp>
#include <gantry/result.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// Integers that fit in 64 bits are `negative` if they have a minus sign, which includes -0, and
// `count` otherwise. All other numbers are fractions.
enum class JsonKind : std::uint8_t {
  null,
  boolean,
  negative,
  count,
  fraction,
  text,
  array,
  object,
};

// Returns the name of a kind for messages: "a string".
constexpr std::string_view name_of(JsonKind kind) {
  constexpr std::string_view names[] = {"null",       "a boolean", "a number", "a number",
                                        "a fraction", "a string",  "a list",   "an object"};
  return names[static_cast<std::size_t>(kind)];
}

struct JsonOptions {
  // name of the text in messages
  std::string_view name = "text";
  // reason of all errors
  std::string_view reason = "JSON";
  // offset of the text's first byte, added to all offsets
  std::uint64_t offset = 0;
  // maximum number of nested containers
  std::size_t max_depth = 64;
};

namespace detail {

// A value, or the key that precedes a member's value. A container is an array or an object.
struct JsonItem {
  // offset in the text
  std::uint32_t at;
  JsonKind kind;
  // true for a string with escapes, which is stored in JsonItems::unescaped
  bool is_unescaped;
  // number, boolean   the value
  // text              high: its offset; low: its size
  // container         high: item count; low: index of the item after its last one
  std::uint64_t bits;

  bool is_container() const { return kind >= JsonKind::array; }
  std::size_t high() const { return bits >> 32; }
  std::size_t low() const { return bits & UINT32_MAX; }
  static std::uint64_t pair(std::size_t high, std::size_t low) { return high << 32 | low; }
};

struct JsonItems {
  // in the order of the text
  std::vector<JsonItem> items;
  std::string_view text;
  std::string unescaped;

  std::string_view text_of(const JsonItem& item) const {
    const std::string_view from = item.is_unescaped ? std::string_view(unescaped) : text;
    return from.substr(item.high(), item.low());
  }
};

// Builds the list of a text. While a container is open, its bits contain the index of the enclosing
// container and the number of items that the enclosing container has so far.
//
// Functions that return bool return false if the text is not JSON. here_ is then at the invalid
// byte.
class JsonParser {
 public:
  // out      [out]  empty on entry
  JsonParser(std::string_view text, const JsonOptions& options, JsonItems& out)
      : options_(options), out_(out), here_(text.data()), end_(here_ + text.size()) {
    out.text = text;
  }

  // returns  MALFORMED  see JsonTree::parse()
  Status parse() {
    if (out_.text.size() > UINT32_MAX) {
      return refuse(0, " has ", out_.text.size(), " bytes, maximum is ", UINT32_MAX);
    }
    if (out_.text.starts_with("\xef\xbb\xbf")) here_ += 3;
    if (document()) return {};
    if (is_too_deep_) {
      return refuse(out_.items[open_].at, " is nested deeper than ", options_.max_depth);
    }
    const std::string_view read = out_.text.substr(0, position());
    const std::string last =
        quoted(read.substr(read.size() - std::min<std::size_t>(read.size(), 16)));
    if (here_ == end_) return refuse(position(), " is not JSON: ends after ", last);
    return refuse(position() + 1, " is not JSON: ", quoted(std::string_view(here_, 1)), " follows ",
                  last);
  }

 private:
  static constexpr std::size_t none = UINT32_MAX;

  std::size_t position() const { return static_cast<std::size_t>(here_ - out_.text.data()); }
  template <class... Parts>
  Failure refuse(std::size_t at, const Parts&... parts) const {
    return malformed(options_.offset + at, options_.name, parts...).with_reason(options_.reason);
  }

  // Returns 0 at the end.
  unsigned char next() const { return here_ == end_ ? 0 : static_cast<unsigned char>(*here_); }
  bool take(std::string_view word) {
    for (const char c : word) {
      if (next() != static_cast<unsigned char>(c)) return false;
      ++here_;
    }
    return true;
  }
  void skip_blanks() {
    here_ = std::find_if_not(
        here_, end_, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  bool take_digits() {
    const char* const first = here_;
    here_ = std::find_if_not(here_, end_, is_digit);
    return here_ != first;
  }

  void add(JsonKind kind, const char* at, std::uint64_t bits, bool is_unescaped = false) {
    out_.items.push_back(
        {static_cast<std::uint32_t>(at - out_.text.data()), kind, is_unescaped, bits});
  }

  bool document() {
    while (true) {
      skip_blanks();
      if (!value()) return false;
      // A value has ended, or a container has begun.
      while (true) {
        skip_blanks();
        if (open_ == none) return next() == 0;
        const bool is_object = out_.items[open_].kind == JsonKind::object;
        if (next() == (is_object ? '}' : ']')) {
          close();
          continue;
        }
        if (!std::exchange(begins_, false) && !take(",")) return false;
        if (is_object && !key()) return false;
        break;
      }
    }
  }

  bool value() {
    ++count_;
    switch (next()) {
      case '{':
        return open(JsonKind::object);
      case '[':
        return open(JsonKind::array);
      case '"':
        return string();
      case 'n':
        add(JsonKind::null, here_, 0);
        return take("null");
      case 't':
        add(JsonKind::boolean, here_, 1);
        return take("true");
      case 'f':
        add(JsonKind::boolean, here_, 0);
        return take("false");
      default:
        return number();
    }
  }

  bool open(JsonKind kind) {
    is_too_deep_ = open_ != none && depth_ >= options_.max_depth;
    if (is_too_deep_) return false;
    add(kind, here_, JsonItem::pair(open_, count_));
    open_ = out_.items.size() - 1;
    count_ = 0;
    begins_ = true;
    ++depth_;
    ++here_;
    return true;
  }

  void close() {
    JsonItem& container = out_.items[open_];
    open_ = container.high();
    container.bits = JsonItem::pair(std::exchange(count_, container.low()), out_.items.size());
    begins_ = false;
    --depth_;
    ++here_;
  }

  bool key() {
    skip_blanks();
    if (next() != '"' || !string()) return false;
    skip_blanks();
    return take(":");
  }

  bool string() {
    const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
    const char* const at = here_++;
    // first byte that is not in `unescaped` yet
    const char* rest = here_;
    const std::size_t unescaped_at = out_.unescaped.size();
    bool has_escapes = false;
    while (true) {
      here_ = std::find_if_not(here_, end_, is_plain);
      if (next() == '"') break;
      if (next() == '\\') {
        out_.unescaped.append(rest, here_);
        if (!escape()) return false;
        rest = here_;
        has_escapes = true;
      } else {
        const std::size_t size = next() < 0x20 ? 0 : decode_utf8({here_, end_}, 0).size;
        if (size == 0) return false;
        here_ += size;
      }
    }
    if (has_escapes) out_.unescaped.append(rest, here_);
    const std::size_t first =
        has_escapes ? unescaped_at : static_cast<std::size_t>(rest - out_.text.data());
    const std::size_t end = has_escapes ? out_.unescaped.size() : position();
    add(JsonKind::text, at, JsonItem::pair(first, end - first), has_escapes);
    ++here_;
    return true;
  }

  bool escape() {
    constexpr std::string_view names = "\"\\/bfnrt", characters = "\"\\/\b\f\n\r\t";
    ++here_;
    if (const std::size_t i = names.find(static_cast<char>(next())); i != names.npos) {
      out_.unescaped.push_back(characters[i]);
      ++here_;
      return true;
    }
    std::uint32_t number = 0;
    if (!take("u") || !hex_digits(number)) return false;
    bool is_character = (number & 0xf800) != 0xd800;
    if ((number & 0xfc00) == 0xd800) {
      // A high surrogate. A low surrogate must follow.
      std::uint32_t low = 0;
      if (!take("\\u") || !hex_digits(low)) return false;
      number = 0x10000 + ((number & 0x3ff) << 10 | (low & 0x3ff));
      is_character = (low & 0xfc00) == 0xdc00;
    }
    if (!is_character) {
      --here_;
      return false;
    }
    append_utf8(out_.unescaped, number);
    return true;
  }

  bool hex_digits(std::uint32_t& number) {
    const char* const end = here_ + std::min<std::ptrdiff_t>(end_ - here_, 4);
    const bool is_whole = end - here_ == 4;
    here_ = std::from_chars(here_, end, number, 16).ptr;
    return is_whole && here_ == end;
  }

  bool number() {
    const char* const at = here_;
    const bool is_negative = take("-");
    const char* const whole = here_;
    if (!take_digits()) return false;
    // A leading zero is the whole integer part.
    if (*whole == '0') here_ = whole + 1;
    const char* const whole_end = here_;
    if (take(".") && !take_digits()) return false;
    if (take("e") || take("E")) {
      if (!take("+")) take("-");
      if (!take_digits()) return false;
    }
    std::int64_t negative = 0;
    std::uint64_t count = 0;
    const auto fits = [&](auto& integer) {
      return here_ == whole_end && std::from_chars(at, here_, integer).ec == std::errc();
    };
    if (is_negative && fits(negative)) {
      add(JsonKind::negative, at, static_cast<std::uint64_t>(negative));
    } else if (!is_negative && fits(count)) {
      add(JsonKind::count, at, count);
    } else {
      double fraction = 0;
      if (std::from_chars(at, here_, fraction).ec != std::errc() && is_above_one(at, whole_end)) {
        --here_;
        return false;
      }
      add(JsonKind::fraction, at, std::bit_cast<std::uint64_t>(fraction));
    }
    return true;
  }

  // The number from `at` to here_ is out of the range of double. Returns true if it is too large,
  // false if it is too small.
  bool is_above_one(const char* at, const char* whole_end) const {
    const char* const digit = std::find_if(at, here_, [](char c) { return c >= '1' && c <= '9'; });
    const char* power_at = std::find_if(at, here_, [](char c) { return c == 'e' || c == 'E'; });
    std::int64_t power = 0;
    if (power_at != here_) {
      power_at += power_at[1] == '+' ? 2 : 1;
      if (std::from_chars(power_at, here_, power).ec != std::errc()) return *power_at != '-';
    }
    return power > digit - whole_end;
  }

  const JsonOptions& options_;
  JsonItems& out_;
  const char* here_;
  const char* end_;
  // the innermost open container, its item count so far, and whether it has no item yet
  std::size_t open_ = none;
  std::size_t count_ = 0;
  bool begins_ = false;
  std::size_t depth_ = 0;
  bool is_too_deep_ = false;
};

}  // namespace detail

}  // namespace gantry
