// SPDX-License-Identifier: Apache-2.0
#include "format_text.hpp"

#include <gantry/quoted.hpp>
#include <gantry/raised_error.hpp>

#include <charconv>
#include <optional>

namespace gantry::contrib {
namespace {

// Of a field, and of all that a format adds to its own characters and to one text of each value.
constexpr std::size_t max_width = std::size_t{1} << 20;

// Bytes of the character at the beginning of a text.
std::size_t character_size(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) ++size;
  return size;
}

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

// Removes a decimal number from the front of a text; nullopt: there is none, or it is too large.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool begins_with_digit(std::string_view text) {
  return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

struct Field {
  std::string_view fill = " ";
  char align = '<';
  std::size_t width = 0;
  std::optional<std::size_t> precision;
};

// Parses what follows the colon: [[fill]align][0][width][.precision][s]
std::optional<Field> field_of(std::string_view text) {
  Field field;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^'; };
  const std::size_t first = text.empty() ? 0 : character_size(text);
  if (first < text.size() && is_align(text[first])) {
    field.fill = text.substr(0, first);
    field.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && is_align(text[0])) {
    field.align = text[0];
    text.remove_prefix(1);
  }
  if (begins_with_digit(text)) {
    if (text[0] == '0' && field.fill == " ") field.fill = "0";
    const auto width = take_number(text);
    if (!width || *width > max_width) return std::nullopt;
    field.width = *width;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    field.precision = begins_with_digit(text) ? take_number(text) : std::nullopt;
    if (!field.precision) return std::nullopt;
  }
  if (text == "s") text = {};
  return text.empty() ? std::optional(field) : std::nullopt;
}

// returns  false: the text would have more than `max` bytes
bool append_field(std::string& out, std::string_view value, const Field& field, std::size_t max) {
  if (field.precision) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < *field.precision && end < value.size(); ++i)
      end += character_size(value.substr(end));
    value = value.substr(0, end);
  }
  const std::size_t count = character_count(value);
  const std::size_t missing = field.width > count ? field.width - count : 0;
  const std::size_t room = max > out.size() ? max - out.size() : 0;
  if (value.size() > room || missing > (room - value.size()) / field.fill.size()) return false;
  const std::size_t before = field.align == '>' ? missing : field.align == '^' ? missing / 2 : 0;
  for (std::size_t i = 0; i < before; ++i) out += field.fill;
  out += value;
  for (std::size_t i = before; i < missing; ++i) out += field.fill;
  return true;
}

}  // namespace

Result<std::string> format_texts(const Host& host, std::string_view format,
                                 std::span<const std::string> values) {
  const auto wrong = [&](std::string_view text) { return raised_error(host, "ValueError", text); };
  // Fields repeat values, and fill as much as their widths state.
  std::size_t max = format.size() + max_width;
  for (const std::string& value : values) max += value.size();
  std::string out;
  std::size_t next = 0;
  bool is_numbered = false, is_automatic = false;
  for (std::size_t i = 0; i < format.size();) {
    const char c = format[i];
    if (c != '{' && c != '}') {
      out += c;
      ++i;
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == c) {
      out += c;
      i += 2;
      continue;
    }
    if (c == '}') return wrong("Single '}' encountered in format string");
    const std::size_t end = format.find('}', i);
    if (end == format.npos) {
      return wrong(i + 1 == format.size() ? "Single '{' encountered in format string"
                                          : "expected '}' before end of string");
    }
    std::string_view name = format.substr(i + 1, end - i - 1);
    std::string_view rule;
    if (const std::size_t colon = name.find(':'); colon != name.npos) {
      rule = name.substr(colon + 1);
      name = name.substr(0, colon);
    }
    // A text is its own str().
    if (name.ends_with("!s")) name.remove_suffix(2);
    std::size_t index = next;
    (name.empty() ? is_automatic : is_numbered) = true;
    if (name.empty()) {
      ++next;
    } else {
      std::string_view rest = name;
      const auto number = begins_with_digit(rest) ? take_number(rest) : std::nullopt;
      if (!number || !rest.empty())
        return wrong(concat("field ", quoted(name), " of the format is not the number of a value"));
      index = *number;
    }
    if (is_numbered && is_automatic) {
      return wrong(
          name.empty()
              ? "cannot switch from manual field specification to automatic field numbering"
              : "cannot switch from automatic field numbering to manual field specification");
    }
    if (index >= values.size()) {
      return raised_error(
          host, "IndexError",
          concat("Replacement index ", index, " out of range for positional args tuple"));
    }
    const auto field = field_of(rule);
    if (!field) return wrong(concat("Invalid format specifier ", quoted(rule), " for a text"));
    if (!append_field(out, values[index], *field, max))
      return wrong(concat("the format makes a text of more than ", max, " bytes"));
    i = end + 1;
  }
  return out;
}

}  // namespace gantry::contrib
