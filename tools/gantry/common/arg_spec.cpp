// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/arg_spec.hpp"

#include "core/base/text.hpp"

#include <gantry/array_record.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

namespace gantry::cli {
namespace {

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// "float32[16]"
Result<ArgSpec> parse_zeros(std::string_view text, std::string_view whole) {
  GANTRY_TRY(auto type, parse_typed_shape(text, concat("argument ", quoted(whole))));
  if (type) return ArgSpec(ZerosArg{type->dtype, std::move(type->shape)});
  return invalid("argument ", quoted(whole), " has no shape, expected zeros:float32[2, 16]");
}

// "[2, 16]"
Result<ArgSpec> parse_shape_arg(std::string_view text, std::string_view whole) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    return invalid("argument ", quoted(whole), " has no brackets, expected shape:[2, 16]");
  GANTRY_TRY(auto shape,
             parse_extents(text.substr(1, text.size() - 2), concat("argument ", quoted(whole))));
  return ArgSpec(ShapeArg{std::move(shape)});
}

// Refuses integers that no int64 is.
//
// whole    [in]   the argument, in which the offsets of values are
Status check_integers(JsonValue json, std::string_view whole) {
  if (json.is(JsonKind::array) || json.is(JsonKind::object)) {
    // Recursive: the parser bounds the depth.
    for (const JsonValue item : json) GANTRY_CHECK(check_integers(item, whole));
    return {};
  }
  if (!json.is(JsonKind::count) && !json.is(JsonKind::fraction)) return {};
  const std::string_view from = whole.substr(json.offset());
  const std::string_view literal = from.substr(0, from.find_first_not_of("-0123456789.eE+"));
  if (literal.find_first_of(".eE") != literal.npos || parse_number<std::int64_t>(literal))
    return {};
  return invalid("json: ", quoted(literal), " is not a 64-bit integer");
}

// "[1, \"a\"]"
Result<ArgSpec> parse_json(std::string_view text, std::string_view whole) {
  const auto checked = [&]() -> Status {
    GANTRY_TRY(const JsonTree tree,
               JsonTree::parse(text, {.name = "json", .offset = whole.size() - text.size()}));
    return check_integers(tree.root(), whole);
  };
  if (Status status = checked(); !status.ok())
    return std::move(status).error().at("in argument ", quoted(whole));
  return ArgSpec(JsonArg{std::string(text)});
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Result<ArgSpec> parse_arg(std::string_view text) {
  std::string_view rest = text;
  if (rest == "none") return ArgSpec(NoneArg{});
  if (take_prefix(rest, "str:")) return ArgSpec(std::string(rest));
  if (take_prefix(rest, "zeros:")) return parse_zeros(rest, text);
  if (take_prefix(rest, "shape:")) return parse_shape_arg(rest, text);
  if (take_prefix(rest, "json:")) return parse_json(rest, text);
  if (take_prefix(rest, "int:")) {
    if (const auto value = parse_number<std::int64_t>(rest)) return ArgSpec(*value);
    return invalid("argument ", quoted(text), ": ", quoted(rest), " is not a 64-bit integer");
  }
  if (take_prefix(rest, "float:")) {
    if (const auto value = parse_number<double>(rest)) return ArgSpec(*value);
    return invalid("argument ", quoted(text), ": ", quoted(rest), " is not a number");
  }
  if (rest.size() > 4 && rest.ends_with(".npy")) return ArgSpec(FileArg{std::string(rest)});
  return invalid("argument ", quoted(text),
                 " has an unknown form, expected FILE.npy, zeros:float32[16], int:3, float:0.5, "
                 "shape:[2, 16], str:text, json:[1, \"a\"] or none");
}

Result<std::vector<std::int64_t>> parse_extents(std::string_view list, std::string_view title) {
  std::vector<std::int64_t> shape;
  if (trimmed(list).empty()) return shape;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view item = trimmed(list.substr(0, comma));
    const auto extent = parse_number<std::int64_t>(item);
    if (!extent || *extent < 0) {
      return invalid(title, ": extent ", shape.size(), " is ", quoted(item),
                     ", expected an integer >= 0");
    }
    if (shape.size() == max_array_dimensions)
      return invalid(title, " has more than ", max_array_dimensions, " extents");
    shape.push_back(*extent);
    if (comma == std::string_view::npos) return shape;
    list.remove_prefix(comma + 1);
  }
}

Result<std::optional<TypedShape>> parse_typed_shape(std::string_view text, std::string_view title) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') return std::optional<TypedShape>();
  auto dtype = parse_dtype(text.substr(0, open));
  if (!dtype.ok()) return std::move(dtype).error().at("in ", title);
  GANTRY_TRY(auto shape, parse_extents(text.substr(open + 1, text.size() - open - 2), title));
  return std::optional(TypedShape{*dtype, std::move(shape)});
}

}  // namespace gantry::cli
