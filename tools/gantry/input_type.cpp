// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/input_type.hpp"

#include "core/formats/annotation.hpp"

#include <utility>

namespace gantry::cli {
namespace {

using Kind = InputType::Kind;

// of tuples in tuples; each level reads the text of those within it once
constexpr int max_depth = 16;

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes)
    if (text.starts_with(prefix)) return true;
  return false;
}

InputType annotated(std::string_view annotation, int depth) {
  InputType type{.text = std::string(annotation)};
  if (auto tensor = tensor_annotation(annotation)) {
    type = {.kind = Kind::tensor,
            .dtype = tensor->type.dtype,
            .shape = std::move(tensor->type.shape),
            .extents = std::move(tensor->extents),
            .text = std::move(tensor->text)};
  } else if (annotation.starts_with("R.Tensor")) {
    type.kind = Kind::tensor;
  } else if (auto shape = shape_annotation(annotation)) {
    type.kind = Kind::shape;
    type.shape = std::move(shape->shape);
    type.extents = std::move(shape->extents);
  } else if (annotation.starts_with("R.Shape")) {
    type.kind = Kind::shape;
  } else if (is_tuple(annotation)) {
    type.kind = Kind::tuple;
    if (!annotation.ends_with(')') || depth == max_depth) return type;
    type.items.emplace();
    for (const std::string_view item : tuple_items(annotation))
      type.items->push_back(annotated(item, depth + 1));
  } else if (is_any_of(annotation, {"T.int", "T.uint"})) {
    type.kind = Kind::integer;
  } else if (is_any_of(annotation, {"T.float", "T.bfloat"})) {
    type.kind = Kind::number;
  } else if (annotation.starts_with("T.bool")) {
    type.kind = Kind::truth;
  }
  return type;
}

}  // namespace

InputType input_type(const ParameterInfo& input) {
  if (input.type) {
    return {.kind = Kind::tensor,
            .dtype = input.type->dtype,
            .shape = input.type->shape,
            .extents = input.extents,
            .text = input.type_text};
  }
  InputType type = annotated(input.type_text, 0);
  if (type.kind != Kind::any) return type;
  switch (input.kind) {
    case GANTRY_TENSOR:
      // Relax's R.Any and R.Object accept every value.
      if (!is_any_of(input.type_text, {"R.Any", "R.Object"})) type.kind = Kind::tensor;
      break;
    case GANTRY_ARRAY:
      type.kind = Kind::tuple;
      break;
    case GANTRY_SHAPE:
      type.kind = Kind::shape;
      break;
    case GANTRY_INT:
      type.kind = Kind::integer;
      break;
    case GANTRY_FLOAT:
      type.kind = Kind::number;
      break;
    case GANTRY_BOOL:
      type.kind = Kind::truth;
      break;
    default:
      break;
  }
  return type;
}

}  // namespace gantry::cli
