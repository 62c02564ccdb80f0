// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/model_metadata.hpp"

#include "core/formats/limits.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>
#include <gantry/utf8.hpp>

#include <utility>

namespace gantry::cli {
namespace {

// of the name of an extent, in messages
constexpr std::size_t max_extent_characters = 32;

template <class... Parts>
Failure refuse_metadata(std::uint64_t at, const Parts&... parts) {
  return malformed(at, "model metadata: ", parts...).with_reason("MODEL_METADATA");
}

// A member of an item of "params".
Result<JsonValue> param_member(JsonValue param, std::size_t index, std::string_view key,
                               JsonKind kind) {
  const auto value = param.find(key);
  if (!value) return refuse_metadata(param.offset(), "param ", index, " has no ", quoted(key));
  if (value->is(kind)) return *value;
  return refuse_metadata(value->offset(), "param ", index, ": ", quoted(key), " is ",
                         name_of(value->kind()), ", expected ", name_of(kind));
}

// Appends an extent to a type and its text.
Status add_extent(JsonValue extent, std::size_t index, TensorType& type, std::string& text) {
  if (extent.is(JsonKind::text)) {
    type.shape.push_back(-1);
    text += first_characters(extent.text(), max_extent_characters);
    return {};
  }
  const bool is_count = extent.is(JsonKind::count) && extent.count() <= INT64_MAX;
  const bool is_symbolic = extent.is(JsonKind::negative) && extent.integer() == -1;
  if (!is_count && !is_symbolic) {
    return refuse_metadata(extent.offset(), "param ", index, ": an extent of \"shape\" is ",
                           extent.is(JsonKind::negative) ? concat(extent.integer())
                           : extent.is(JsonKind::count)  ? concat(extent.count())
                                                         : std::string(name_of(extent.kind())),
                           ", expected a name or a number from -1 to 2^63 - 1");
  }
  type.shape.push_back(extent.integer());
  text += concat(extent.integer());
  return {};
}

Result<gantry_dtype> param_dtype(JsonValue value, std::size_t index) {
  // Compilers mean the boolean of one byte.
  auto dtype = parse_dtype(value.text() == "bool" ? "bool8" : value.text());
  if (dtype.ok()) return dtype;
  return refuse_metadata(value.offset(), "param ", index, ": ", dtype.error().message);
}

Result<ModelParam> read_param(JsonValue value, std::size_t index) {
  if (!value.is(JsonKind::object)) {
    return refuse_metadata(value.offset(), "param ", index, " is ", name_of(value.kind()),
                           ", expected an object");
  }
  ModelParam param;
  GANTRY_TRY(const JsonValue name, param_member(value, index, "name", JsonKind::text));
  param.name = name.text();
  GANTRY_TRY(const JsonValue dtype, param_member(value, index, "dtype", JsonKind::text));
  GANTRY_TRY(param.type.dtype, param_dtype(dtype, index));
  GANTRY_TRY(const JsonValue shape, param_member(value, index, "shape", JsonKind::array));
  if (shape.size() > limits::array_dimensions) {
    return refuse_metadata(shape.offset(), "param ", index, ": \"shape\" has ", shape.size(),
                           " extents, maximum is ", limits::array_dimensions);
  }
  std::string extents;
  for (const JsonValue extent : shape) {
    if (!param.type.shape.empty()) extents += ", ";
    GANTRY_CHECK(add_extent(extent, index, param.type, extents));
  }
  param.type_text = concat(dtype_text(param.type.dtype), "[", extents, "]");
  return param;
}

}  // namespace

Result<std::vector<ModelParam>> parse_model_metadata(std::string_view json) {
  if (json.size() > max_model_metadata_bytes) {
    return refuse_metadata(no_offset, "the text has ", json.size(), " bytes, maximum is ",
                           max_model_metadata_bytes);
  }
  GANTRY_TRY(const JsonTree tree,
             JsonTree::parse(json, {.name = "model metadata", .reason = "MODEL_METADATA"}));
  const JsonValue root = tree.root();
  if (!root.is(JsonKind::object)) {
    return refuse_metadata(root.offset(), "the document is ", name_of(root.kind()),
                           ", expected an object");
  }
  std::vector<ModelParam> params;
  const auto list = root.find("params");
  if (!list) return params;
  if (!list->is(JsonKind::array)) {
    return refuse_metadata(list->offset(), "\"params\" is ", name_of(list->kind()),
                           ", expected a list");
  }
  for (const JsonValue item : *list) {
    GANTRY_TRY(ModelParam param, read_param(item, params.size()));
    params.push_back(std::move(param));
  }
  return params;
}

}  // namespace gantry::cli
