// SPDX-License-Identifier: Apache-2.0
//
// The value of --arg: one argument of a function.
//
//     FILE.npy   zeros:float32[2, 16]   int:3   float:0.5   shape:[2, 16]
//     str:text   json:[1, {"key": "text"}]   none
//
// A prefix takes precedence: "str:a.npy" is a string. A file whose name begins with a prefix is
// written as "./int:3.npy".
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry::cli {

struct NoneArg {};
struct FileArg {
  std::string path;
};
struct ZerosArg {
  gantry_dtype dtype;
  std::vector<std::int64_t> shape;
};
struct ShapeArg {
  std::vector<std::int64_t> extents;
};
// A value of lists, dictionaries with texts as keys, texts, numbers and truth values.
struct JsonArg {
  // is JSON
  std::string text;
};
using ArgSpec =
    std::variant<NoneArg, std::int64_t, double, std::string, FileArg, ZerosArg, ShapeArg, JsonArg>;

// Returns the text without the blanks at its begin and end.
std::string_view trimmed(std::string_view text);

// returns  invalid, with the wrong part; for an unknown form, with a list of all forms
Result<ArgSpec> parse_arg(std::string_view text);

// Parses the extents of a shape: "2, 16"; an empty list is the shape of a scalar.
//
// title    [in]   for messages: `argument "shape:[2, x]"`
// returns  invalid: an extent is no integer >= 0, or there are more than max_array_dimensions
Result<std::vector<std::int64_t>> parse_extents(std::string_view list, std::string_view title);

// The type and shape in "float32[2, 16]".
struct TypedShape {
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
};

// returns  nullopt: no brackets; as parse_dtype() and parse_extents()
Result<std::optional<TypedShape>> parse_typed_shape(std::string_view text, std::string_view title);

}  // namespace gantry::cli
