// SPDX-License-Identifier: Apache-2.0
#include "core/native/ffi/ffi_values.hpp"

#include "core/native/device_numbers.hpp"

#include <gantry/kind_text.hpp>

namespace gantry::ffi {
namespace {

bool has_short_headers(const ModuleNode& node) {
  return node.artifact->container.facts.numbering == ExporterFacts::Numbering::ffi_0_21;
}

Failure argument_error(std::int32_t i, std::int32_t kind) {
  return invalid("argument ", i, " is ", kind_text(kind),
                 ", which code of TVM 0.21 and gantry store differently")
      .with_reason("ARGUMENT_KIND");
}

}  // namespace

bool takes_any_list(const ModuleNode& node) {
  return !translates_devices(node) && !has_short_headers(node);
}

void ConvertedList::pass_tensor(std::int32_t i, const gantry_tensor& tensor,
                                std::int32_t device_type) {
  tensors_[i] = tensor;
  tensors_[i].device.type = device_type;
  values_[i].kind = GANTRY_TENSOR_REF;
  values_[i].tensor = &tensors_[i];
}

Status ConvertedList::to_host(const ModuleNode& node) {
  const bool is_short = has_short_headers(node);
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
  const bool is_short = has_short_headers(node);
  for (std::int32_t i = 0; i < count_of(list_); ++i) {
    const gantry_value& value = list_[static_cast<std::size_t>(i)];
    values_[i] = value;
    if (is_short && value.kind >= GANTRY_OBJECT) return argument_error(i, value.kind);
    if (value.kind == GANTRY_DEVICE) {
      values_[i].device.type = to_runtime(node, value.device.type);
    } else if (const gantry_tensor* tensor = gantry_value_tensor(&value)) {
      const std::int32_t type = to_runtime(node, tensor->device.type);
      if (type != tensor->device.type) pass_tensor(i, *tensor, type);
    }
  }
  return {};
}

}  // namespace gantry::ffi
