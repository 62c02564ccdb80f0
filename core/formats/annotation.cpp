// SPDX-License-Identifier: Apache-2.0
#include "core/formats/annotation.hpp"

#include "core/base/text.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>

namespace gantry {
namespace {

// Nested tuples are scanned once for each level.
constexpr std::size_t max_tuple_text = 16384;

constexpr std::size_t max_shown_characters = 240;

// The number in "8" or "T.int64(8)".
std::optional<std::int64_t> number_in(std::string_view text) {
  constexpr std::string_view cast = "T.int64(";
  if (text.starts_with(cast) && text.ends_with(')')) {
    text = text.substr(cast.size(), text.size() - cast.size() - 1);
  }
  return parse_number<std::int64_t>(text);
}

// The texts between the commas of a list, except those within parentheses. A comma may end the list.
std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '(') ++depth;
    if (i < list.size() && list[i] == ')') --depth;
    if (i != list.size() && (list[i] != ',' || depth != 0)) continue;
    std::string_view item = list.substr(begin, i - begin);
    while (item.starts_with(' ')) item.remove_prefix(1);
    if (!item.empty()) items.push_back(item);
    begin = i + 1;
  }
  return items;
}

// Adds an extent to a list, and returns its text.
std::string add_extent(std::string_view item, std::vector<std::int64_t>& shape,
                       std::vector<std::string>& extents) {
  const auto number = number_in(item);
  const bool is_fixed = number && *number >= 0;
  shape.push_back(is_fixed ? *number : -1);
  extents.emplace_back(number ? "" : item);
  return is_fixed ? concat(*number) : std::string(item);
}

// Removes `prefix` and the text up to `end` from the front of a text. Returns what is between them.
std::optional<std::string_view> take_field(std::string_view& from, std::string_view prefix,
                                           std::string_view end) {
  if (!from.starts_with(prefix)) return std::nullopt;
  const std::size_t at = from.find(end, prefix.size());
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view field = from.substr(prefix.size(), at - prefix.size());
  from.remove_prefix(at + end.size());
  return field;
}

}  // namespace

std::optional<TensorAnnotation> tensor_annotation(std::string_view annotation) {
  constexpr std::string_view begin = "R.Tensor((", middle = "), dtype=\"", end = "\")";
  const std::size_t at = annotation.rfind(middle);
  if (!annotation.starts_with(begin) || !annotation.ends_with(end) ||
      at == std::string_view::npos || at < begin.size())
    return std::nullopt;
  const std::size_t dtype_at = at + middle.size();
  if (dtype_at > annotation.size() - end.size()) return std::nullopt;
  const std::string_view name =
      annotation.substr(dtype_at, annotation.size() - end.size() - dtype_at);
  // Relax's boolean has one byte.
  const auto dtype = parse_dtype(name == "bool" ? "bool8" : name);
  if (!dtype.ok()) return std::nullopt;
  TensorAnnotation tensor{{*dtype, {}}, {}, {}};
  std::vector<std::string> texts;
  for (const std::string_view item : items_of(annotation.substr(begin.size(), at - begin.size())))
    texts.push_back(add_extent(item, tensor.type.shape, tensor.extents));
  tensor.text = concat(name, "[", join(texts), "]");
  return tensor;
}

std::optional<ExtentList> shape_annotation(std::string_view annotation) {
  constexpr std::string_view begin = "R.Shape([", end = "])";
  if (!annotation.starts_with(begin) || !annotation.ends_with(end) ||
      annotation.size() < begin.size() + end.size())
    return std::nullopt;
  ExtentList list;
  annotation = annotation.substr(begin.size(), annotation.size() - begin.size() - end.size());
  for (const std::string_view item : items_of(annotation))
    add_extent(item, list.shape, list.extents);
  return list;
}

bool accepts_tensor(std::string_view annotation) {
  constexpr std::string_view accepting[] = {"R.Tensor", "R.Any", "R.Object"};
  return annotation.empty() || std::ranges::any_of(accepting, [&](std::string_view prefix) {
           return annotation.starts_with(prefix);
         });
}

bool is_tuple(std::string_view annotation) {
  return annotation.starts_with("T.Tuple(") || annotation.starts_with("R.Tuple(");
}

std::vector<std::string_view> tuple_items(std::string_view annotation) {
  constexpr std::size_t opening = std::string_view("T.Tuple(").size();
  return items_of(annotation.substr(opening, annotation.size() - opening - 1));
}

std::vector<std::string_view> flat_annotations(std::string_view annotation) {
  if (annotation.size() > max_tuple_text) return {annotation};
  std::vector<std::string_view> flat;
  // in reverse order
  std::vector<std::string_view> waiting{annotation};
  while (!waiting.empty()) {
    const std::string_view next = waiting.back();
    waiting.pop_back();
    if (!is_tuple(next) || !next.ends_with(')')) {
      flat.push_back(next);
      continue;
    }
    const std::vector<std::string_view> items = tuple_items(next);
    waiting.insert(waiting.end(), items.rbegin(), items.rend());
  }
  return flat;
}

std::optional<StatedAnnotation> stated_annotation(std::string_view text) {
  const auto function = take_field(text, "ErrorContext(fn=", ", loc=");
  const auto place = function ? take_field(text, "", ", ") : std::nullopt;
  if (!place) return std::nullopt;
  std::string_view param;
  if (*place != "return") {
    const auto named = take_field(text, "param=", ", ");
    if (!named) return std::nullopt;
    param = *named;
  }
  constexpr std::string_view prefix = "annotation=";
  const std::size_t end = text.rfind(')');
  if (!text.starts_with(prefix) || end == std::string_view::npos) return std::nullopt;
  return StatedAnnotation{*function, param, text.substr(prefix.size(), end - prefix.size())};
}

std::string shown_annotation(std::string_view annotation) {
  const std::string_view shown = first_characters(annotation, max_shown_characters);
  return concat(shown, shown.size() == annotation.size() ? "" : "...");
}

}  // namespace gantry
