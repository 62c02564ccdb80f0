// SPDX-License-Identifier: Apache-2.0
#include "core/formats/annotation.hpp"

#include "core/base/text.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>

#include <algorithm>

namespace gantry {
namespace {

// Nested tuples are scanned once for each level.
constexpr std::size_t max_tuple_text = 16384;

// The number in "8" or "T.int64(8)".
std::optional<std::int64_t> extent_in(std::string_view text) {
  constexpr std::string_view cast = "T.int64(";
  if (text.starts_with(cast) && text.ends_with(')')) {
    text = text.substr(cast.size(), text.size() - cast.size() - 1);
  }
  const auto extent = parse_number<std::int64_t>(text);
  return extent && *extent >= 0 ? extent : std::nullopt;
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
  TensorAnnotation tensor{{*dtype, {}}, {}};
  std::vector<std::string> extents;
  for (const std::string_view item : items_of(annotation.substr(begin.size(), at - begin.size()))) {
    const auto extent = extent_in(item);
    tensor.type.shape.push_back(extent.value_or(-1));
    extents.push_back(extent ? concat(*extent) : std::string(item));
  }
  tensor.text = concat(name, "[", join(extents), "]");
  return tensor;
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

std::vector<std::string_view> flat_annotations(std::string_view annotation) {
  if (annotation.size() > max_tuple_text) return {annotation};
  std::vector<std::string_view> flat;
  // in reverse order
  std::vector<std::string_view> waiting{annotation};
  while (!waiting.empty()) {
    const std::string_view next = waiting.back();
    waiting.pop_back();
    constexpr std::size_t opening = std::string_view("T.Tuple(").size();
    if (!is_tuple(next) || !next.ends_with(')')) {
      flat.push_back(next);
      continue;
    }
    std::vector<std::string_view> items = items_of(next.substr(opening, next.size() - opening - 1));
    waiting.insert(waiting.end(), items.rbegin(), items.rend());
  }
  return flat;
}

}  // namespace gantry
