// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/ffi/ffi_values.hpp"

#include "core/engine/native/device_numbers.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/kind_text.hpp>

namespace gantry::ffi {
namespace {

// The number of an object in code of TVM 0.21.
struct Renumbered {
  std::int32_t kind, number;
  // Code reads the content.
  bool has_content;
};
constexpr Renumbered renumbered[] = {
    {GANTRY_STRING, 65, true}, {GANTRY_BYTES, 66, true},  {GANTRY_SHAPE, 71, true},
    {GANTRY_TENSOR, 72, true}, {GANTRY_ARRAY, 69, false}, {GANTRY_MAP, 70, false},
};
constexpr std::int64_t header_difference = sizeof(gantry_object) - 16;

Failure argument_error(std::int32_t i, std::int32_t kind) {
  return invalid("argument ", i, " is ", kind_text(kind),
                 ", which code of TVM 0.21 and gantry store differently")
      .with_reason("ARGUMENT_KIND");
}

}  // namespace

gantry_value to_first_ffi(const gantry_value& value) {
  gantry_value out = value;
  if (value.kind == GANTRY_SMALL_STRING) {
    out = {GANTRY_CSTRING, 0, {}};
    out.cstring = value.small;
  }
  for (const Renumbered& each : renumbered) {
    if (value.kind != each.kind) continue;
    out.kind = each.number;
    if (each.has_content) out.i += header_difference;
  }
  return out;
}

bool from_first_ffi(gantry_value& value) {
  if (value.kind < GANTRY_OBJECT) return true;
  gantry_value object = value;
  for (const Renumbered& each : renumbered) {
    if (value.kind != each.number) continue;
    object.kind = each.kind;
    if (each.has_content) object.i -= header_difference;
  }
  if (value.object == nullptr || object.object->kind != object.kind) return false;
  // At the place of its kind, a text of TVM 0.21 has the same number.
  const bool is_text = object.kind == GANTRY_STRING || object.kind == GANTRY_BYTES;
  if (is_text && !is_own_text(*object.object)) return false;
  value = object;
  return true;
}

void ConvertedList::pass_tensor(std::int32_t i, const gantry_tensor& tensor,
                                std::int32_t device_type) {
  tensors_[i] = tensor;
  tensors_[i].device.type = device_type;
  values_[i].kind = GANTRY_TENSOR_REF;
  values_[i].tensor = &tensors_[i];
}

Status ConvertedList::to_host(const ModuleNode& node) {
  const bool is_short = has_short_objects(node.artifact->container.facts.dialect);
  for (std::int32_t i = 0; i < count_of(list_); ++i) {
    const gantry_value& value = list_[static_cast<std::size_t>(i)];
    values_[i] = value;
    if (value.kind == GANTRY_DEVICE) {
      values_[i].device.type = to_artifact(node, value.device.type);
    } else if (const gantry_tensor* tensor = gantry_value_tensor(&value)) {
      pass_tensor(i, *tensor, to_artifact(node, tensor->device.type));
    } else if (is_short && gantry_value_bytes(&list_[static_cast<std::size_t>(i)], &bytes_[i])) {
      values_[i] = {};
      if (value.kind == GANTRY_STRING || value.kind == GANTRY_SMALL_STRING ||
          value.kind == GANTRY_CSTRING) {
        values_[i].kind = GANTRY_CSTRING;
        values_[i].cstring = bytes_[i].data;
      } else {
        values_[i].kind = GANTRY_BYTES_REF;
        values_[i].bytes = &bytes_[i];
      }
    } else if (is_short && value.kind >= GANTRY_OBJECT) {
      return argument_error(i, value.kind);
    }
  }
  return {};
}

Status ConvertedList::from_host(const ModuleNode& node) {
  const bool is_short = has_short_objects(node.artifact->container.facts.dialect);
  for (std::int32_t i = 0; i < count_of(list_); ++i) {
    const gantry_value& value = list_[static_cast<std::size_t>(i)];
    values_[i] = value;
    if (is_short && !from_first_ffi(values_[i])) {
      return invalid("argument ", i, " has type number ", value.kind,
                     " and is not an object of this runtime")
          .with_reason("ARGUMENT_KIND");
    }
    if (value.kind == GANTRY_DEVICE) {
      values_[i].device.type = to_runtime(node, value.device.type);
    } else if (value.kind == GANTRY_TENSOR_REF) {
      const gantry_tensor& tensor = *value.tensor;
      const std::int32_t type = to_runtime(node, tensor.device.type);
      if (type != tensor.device.type) pass_tensor(i, tensor, type);
    }
  }
  return {};
}

}  // namespace gantry::ffi
