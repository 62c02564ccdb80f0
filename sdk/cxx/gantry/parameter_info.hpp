// SPDX-License-Identifier: Apache-2.0
//
// gantry/parameter_info.hpp - an input or output of a function of a model, as the file states it.
#pragma once

#include <gantry/value.h>
#include <gantry/concat.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/tensor_type.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

struct ParameterInfo {
  // "0", the position, if the file contains no names
  std::string name;
  // nullopt: no tensor, or the file does not state its shape and dtype
  std::optional<TensorType> type;
  // "float32[n, 64]", "R.Shape([n])", as the file has it; empty: not stated
  std::string type_text;
  // GANTRY_TENSOR; GANTRY_ARRAY for a tuple; GANTRY_NONE: another kind, or not stated
  std::int32_t kind = GANTRY_NONE;
  // GANTRY_PARAMETER_*, or-ed
  std::uint32_t flags = 0;
  // A name for each extent of `type`, see gantry_parameter; empty: no extent has one
  std::vector<std::string> extents = {};

  bool is_tuple() const { return kind == GANTRY_ARRAY; }
  // False for a tuple, a shape or a number.
  bool accepts_tensor() const {
    return kind == GANTRY_TENSOR || (kind == GANTRY_NONE && type_text.empty());
  }
};

// Returns the error of a tensor without the type.
//
// title    [in]   `input "x" of the model`
// wanted   [in]   the dtype that it should have
// expected [in]   the type as text: "float32[n, 64]"
// returns  INVALID  ARGUMENT_DTYPE or ARGUMENT_SHAPE
inline Error wrong_type(std::string_view title, gantry_dtype dtype,
                        std::span<const std::int64_t> shape, gantry_dtype wanted,
                        std::string_view expected) {
  return invalid(title, " is ", type_text(dtype, shape), ", expected ", expected)
      .with_reason(same_dtype(dtype, wanted) ? "ARGUMENT_SHAPE" : "ARGUMENT_DTYPE");
}

// Returns the name of an output for which the file has none: "output", or "output0", "output1" and so
// on if there are several.
inline std::string output_name(std::size_t index, std::size_t count,
                               std::string_view base = "output") {
  return count == 1 ? std::string(base) : concat(base, index);
}

// An output, or an item of one.
template <class Item>
struct NamedItem {
  std::string name;
  Item value;
};

// Returns the items of nested tuples in order.
//
// items_of [in]   returns the items of a tuple as Result<std::optional<std::vector<Item>>>, and
//                 nullopt of another value
// returns  EXHAUSTED  too many items
template <class Item, class ItemsOf>
Result<std::vector<Item>> flat_items(Item value, const ItemsOf& items_of) {
  // A tuple may contain itself several times, so a few bytes of code can make any number of items.
  constexpr std::size_t max_items = 65536;
  std::vector<Item> items;
  // in reverse order
  std::vector<Item> waiting;
  waiting.push_back(std::move(value));
  for (std::size_t visited = 0; !waiting.empty(); ++visited) {
    Item next = std::move(waiting.back());
    waiting.pop_back();
    GANTRY_TRY(auto parts, items_of(next));
    if (!parts) {
      items.push_back(std::move(next));
      continue;
    }
    if (visited + waiting.size() + parts->size() > max_items)
      return exhausted("the result has more than ", max_items, " items, the limit");
    for (std::size_t i = parts->size(); i > 0; --i) waiting.push_back(std::move((*parts)[i - 1]));
  }
  return items;
}

// As flat_items(), with the names of output_name().
template <class Item, class ItemsOf>
Result<std::vector<NamedItem<Item>>> named_items(Item value, std::string_view base,
                                                 const ItemsOf& items_of) {
  GANTRY_TRY(std::vector<Item> items, flat_items(std::move(value), items_of));
  std::vector<NamedItem<Item>> named;
  for (std::size_t i = 0; i < items.size(); ++i)
    named.push_back({output_name(i, items.size(), base), std::move(items[i])});
  return named;
}

}  // namespace gantry
