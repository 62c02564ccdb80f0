// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/input_spec.hpp"

#include "core/base/text.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <cmath>

namespace gantry::cli {
namespace {

// of tuples in tuples
constexpr int max_depth = 16;

Failure unknown_form(std::string_view whole) {
  return invalid("input ", quoted(whole),
                 " has an unknown form, expected NAME=FILE.npy, NAME=FILE.npz:MEMBER, NAME=zeros, "
                 "NAME=ones, NAME=random:SEED:LOW:HIGH, NAME=1,2,3, NAME=@FILE, or without NAME= "
                 "FILE.npz or a word for all inputs");
}

// Whether an odd number of backslashes is before a character.
bool is_escaped(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && text[begin - 1] == '\\') --begin;
  return (at - begin) % 2 != 0;
}

bool begins_with_json(std::string_view list) {
  const std::size_t first = list.find_first_not_of(' ');
  return first != list.npos && list.substr(first).starts_with("json:");
}

// The items of a list. Quoted texts in JSON have no separators.
std::vector<std::string_view> split(std::string_view list, char separator) {
  std::vector<std::string_view> items;
  int depth = 0;
  std::size_t begin = 0;
  bool is_json = begins_with_json(list), is_quoted = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (is_json && i < list.size()) {
      if (list[i] == '"' && !is_escaped(list, i)) is_quoted = !is_quoted;
      if (is_quoted) continue;
    }
    if (i < list.size() && list[i] == '(') ++depth;
    if (i < list.size() && list[i] == ')') --depth;
    if (i < list.size() && (list[i] != separator || depth > 0)) continue;
    items.push_back(trimmed(list.substr(begin, i - begin)));
    begin = i + 1;
    is_json = begin <= list.size() && begins_with_json(list.substr(begin));
    is_quoted = false;
  }
  return items;
}

// "random:SEED:LOW:HIGH", the last three optional
Result<FillValue> parse_random(std::string_view text, std::string_view whole) {
  const std::vector<std::string_view> parts = split(text, ':');
  FillValue fill{.kind = FillValue::Kind::random};
  if (parts.size() == 3 || parts.size() > 4) {
    return invalid("input ", quoted(whole), " has ", parts.size() - 1,
                   " numbers after random, expected random, random:SEED or random:SEED:LOW:HIGH");
  }
  if (parts.size() > 1) {
    const auto seed = parse_number<std::uint64_t>(parts[1]);
    if (!seed) {
      return invalid("input ", quoted(whole), ": seed is ", quoted(parts[1]),
                     ", expected an integer from 0 to ", UINT64_MAX);
    }
    fill.seed = *seed;
  }
  if (parts.size() == 4) {
    const auto low = number_in(parts[2]), high = number_in(parts[3]);
    if (!low || !high || !std::isfinite(*low) || !std::isfinite(*high) || *low >= *high) {
      return invalid("input ", quoted(whole), ": LOW is ", quoted(parts[2]), " and HIGH ",
                     quoted(parts[3]), ", expected numbers with LOW < HIGH");
    }
    fill.range = FillValue::Range{*low, *high};
  }
  return fill;
}

// A word; nullopt if the text is none.
Result<std::optional<FillValue>> parse_word(std::string_view text, std::string_view whole) {
  if (text == "zeros") return std::optional(FillValue{.kind = FillValue::Kind::zeros});
  if (text == "ones") return std::optional(FillValue{.kind = FillValue::Kind::ones});
  if (text != "random" && !text.starts_with("random:")) return std::optional<FillValue>();
  GANTRY_TRY(const FillValue fill, parse_random(text, whole));
  return std::optional(fill);
}

bool is_argument(std::string_view text) {
  constexpr std::string_view prefixes[] = {"int:", "float:", "str:", "shape:", "json:"};
  return text == "none" || std::ranges::any_of(prefixes, [&](std::string_view prefix) {
           return text.starts_with(prefix);
         });
}

FileValue parse_file(std::string_view text) {
  constexpr std::string_view member_mark = ".npz:";
  FileValue file{std::string(text), ""};
  const std::size_t mark = text.rfind(member_mark);
  if (mark != text.npos) {
    file.member = text.substr(mark + member_mark.size());
    file.path.resize(mark + member_mark.size() - 1);
  }
  return file;
}

// Numbers if the first item is one.
Result<std::optional<NumbersValue>> parse_numbers(std::string_view text, std::string_view whole) {
  const std::vector<std::string_view> items = split(text, ',');
  if (!number_in(items.front())) return std::optional<NumbersValue>();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (number_in(items[i])) continue;
    return invalid("input ", quoted(whole), ": item ", i, " is ", quoted(items[i]),
                   ", expected a number");
  }
  return std::optional(NumbersValue{std::string(text)});
}

Result<InputValue> parse_value(std::string_view text, std::string_view whole, int depth) {
  GANTRY_TRY(const auto word, parse_word(text, whole));
  if (word) return InputValue{*word};
  if (is_argument(text)) {
    GANTRY_TRY(ArgSpec argument, parse_arg(text));
    return InputValue{std::move(argument)};
  }
  if (text.starts_with('(') && text.ends_with(')')) {
    if (depth == max_depth) {
      return invalid("input ", quoted(whole), " has more than ", max_depth,
                     " tuples within each other");
    }
    TupleValue tuple;
    const std::string_view list = trimmed(text.substr(1, text.size() - 2));
    if (list.empty()) return InputValue{std::move(tuple)};
    for (const std::string_view item : split(list, ';')) {
      GANTRY_TRY(InputValue value, parse_value(item, whole, depth + 1));
      tuple.items.push_back(std::move(value));
    }
    return InputValue{std::move(tuple)};
  }
  if (text.empty() || text == "@") return unknown_form(whole);
  if (text.starts_with('@')) return InputValue{NumbersFile{std::string(text.substr(1))}};
  GANTRY_TRY(auto numbers, parse_numbers(text, whole));
  if (numbers) return InputValue{*std::move(numbers)};
  return InputValue{parse_file(text)};
}

void add_files(const InputValue& value, std::vector<std::string>& files) {
  if (const auto* file = std::get_if<FileValue>(&value.content)) files.push_back(file->path);
  if (const auto* file = std::get_if<NumbersFile>(&value.content)) files.push_back(file->path);
  if (const auto* tuple = std::get_if<TupleValue>(&value.content)) {
    for (const InputValue& item : tuple->items) add_files(item, files);
  }
}

}  // namespace

std::optional<Number> number_in(std::string_view text) {
  if (text == "true") return 1;
  if (text == "false") return 0;
  if (const auto integer = parse_number<std::int64_t>(text)) return *integer;
  if (const auto integer = parse_number<std::uint64_t>(text)) return *integer;
  if (const auto number = parse_number<double>(text)) return *number;
  return std::nullopt;
}

std::vector<std::string> InputSpec::files() const {
  std::vector<std::string> files;
  add_files(value, files);
  return files;
}

Result<InputSpec> parse_input(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0) return unknown_form(text);
  if (equals != text.npos) {
    GANTRY_TRY(InputValue value, parse_value(text.substr(equals + 1), text, 0));
    return InputSpec{std::string(text.substr(0, equals)), std::move(value)};
  }
  GANTRY_TRY(const auto word, parse_word(text, text));
  if (word) return InputSpec{"", {*word}};
  const bool is_array_file = text.ends_with(".npz") || text.ends_with(".npy");
  if (!is_array_file) return unknown_form(text);
  return InputSpec{"", {FileValue{std::string(text), ""}}};
}

Result<ShapeSpec> parse_shape(std::string_view text) {
  const std::string title = concat("shape ", quoted(text));
  const std::size_t equals = text.find('=');
  const bool has_name = equals != 0 && equals != text.npos;
  const std::string_view value = trimmed(has_name ? text.substr(equals + 1) : "");
  if (value.empty()) {
    return invalid(title, " has an unknown form, expected NAME=4,3,224,224, NAME=float32[4,3] or ",
                   "EXTENT=4");
  }
  ShapeSpec shape{.name = std::string(trimmed(text.substr(0, equals))), .dtype = {}, .extents = {}};
  GANTRY_TRY(auto typed, parse_typed_shape(value, title));
  if (typed) {
    shape.dtype = typed->dtype;
    shape.extents = std::move(typed->shape);
    return shape;
  }
  GANTRY_TRY(shape.extents, parse_extents(value, title));
  return shape;
}

}  // namespace gantry::cli
