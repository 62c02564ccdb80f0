// SPDX-License-Identifier: Apache-2.0
//
// The values of a machine: reading registers, making tensors, and values that enter and leave it.
#include "machine.hpp"

#include <gantry/array_record.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/zero_copy.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace gantry::relay {
namespace {

// Of tuples in arguments and results.
constexpr std::uint32_t max_nesting = 256;

// Of one result: a tuple may contain another one several times, so a few instructions can make any
// number.
constexpr std::uint32_t max_exported = 65536;

constexpr std::string_view kind_names[] = {"a tensor", "a storage", "a tuple", "a closure"};

std::string found_text(const Object* object) {
  return std::string(object == nullptr ? "nothing"
                                       : kind_names[static_cast<std::size_t>(object->kind)]);
}

std::uint64_t element_count(std::span<const std::int64_t> extents) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : extents) count *= static_cast<std::uint64_t>(extent);
  return count;
}

// Precondition: the tensor has strides.
std::span<const std::int64_t> strides_of(const gantry_tensor& tensor) {
  return {tensor.strides, static_cast<std::size_t>(tensor.ndim)};
}

// Reads a number of a width. A truth value is 0 or 1.
template <class Number>
std::int64_t number_at(const std::uint8_t* data) {
  Number number;
  std::memcpy(&number, data, sizeof number);
  return static_cast<std::int64_t>(number);
}

bool is_integer(gantry_dtype dtype) {
  const auto code = static_cast<TypeCode>(dtype.code);
  const bool has_width = dtype.bits == 1 || dtype.bits == 8 || dtype.bits == 16 ||
                         dtype.bits == 32 || dtype.bits == 64;
  return dtype.lanes == 1 && has_width &&
         (code == TypeCode::int_ || code == TypeCode::uint || code == TypeCode::bool_);
}

}  // namespace

Result<TensorObject*> Machine::tensor_in(const AnyRef* registers, std::uint32_t reg) const {
  Object* const object = registers[reg].get();
  if (object != nullptr && object->kind == ObjectKind::tensor)
    return static_cast<TensorObject*>(object);
  return invalid("register ", number_in_file(reg), " has ", found_text(object),
                 ", expected a tensor")
      .with_reason("REGISTER");
}

Result<TupleObject*> Machine::tuple_in(const AnyRef* registers, std::uint32_t reg,
                                       ObjectKind kind) const {
  Object* const object = registers[reg].get();
  if (object != nullptr && object->kind == kind) return static_cast<TupleObject*>(object);
  return invalid("register ", number_in_file(reg), " has ", found_text(object), ", expected ",
                 kind_names[static_cast<std::size_t>(kind)])
      .with_reason("REGISTER");
}

Result<const std::uint8_t*> Machine::host_data(TensorObject& tensor, Ref<TensorObject>& copy) {
  if (tensor.host_data != nullptr) return tensor.host_data;
  const TensorObject* at = &tensor;
  if (tensor.view.device.type != cpu_device_type) {
    GANTRY_TRY(copy, new_tensor(host_device(), tensor.view.dtype, gantry::shape_of(tensor.view)));
    GANTRY_CHECK(host_.tensor_copy(tensor.view, copy->view, &env_));
    at = copy.get();
  }
  return static_cast<const std::uint8_t*>(at->view.data) + at->view.byte_offset;
}

Result<std::int64_t> Machine::integer_in(const AnyRef* registers, std::uint32_t reg) {
  GANTRY_TRY(TensorObject* const tensor, tensor_in(registers, reg));
  const gantry_dtype dtype = tensor->view.dtype;
  if (!is_integer(dtype) || element_count(gantry::shape_of(tensor->view)) == 0) {
    return invalid("register ", number_in_file(reg), " has ", tensor_text(tensor->view),
                   ", expected an integer")
        .with_reason("REGISTER");
  }
  Ref<TensorObject> copy;
  GANTRY_TRY(const std::uint8_t* const data, host_data(*tensor, copy));
  switch (dtype.bits) {
    case 1:
      return *data != 0 ? 1 : 0;
    case 8:
      return number_at<std::int8_t>(data);
    case 16:
      return number_at<std::int16_t>(data);
    case 32:
      return number_at<std::int32_t>(data);
    default:
      return number_at<std::int64_t>(data);
  }
}

// A list of extents, or a scalar for no extents.
Status Machine::read_extents(TensorObject& from, std::vector<std::int64_t>& extents) {
  const gantry_tensor& view = from.view;
  extents.clear();
  if (view.ndim == 0) return {};
  const bool is_list =
      view.ndim == 1 && view.shape[0] <= max_array_dimensions &&
      (same_dtype(view.dtype, dtypes::int64) || same_dtype(view.dtype, dtypes::int32));
  if (!is_list) {
    return invalid("shape is in ", tensor_text(view), ", expected int64 or int32 of at most ",
                   max_array_dimensions, " extents")
        .with_reason("REGISTER");
  }
  if (view.shape[0] == 0) return {};
  Ref<TensorObject> copy;
  GANTRY_TRY(const std::uint8_t* const data, host_data(from, copy));
  for (std::int64_t i = 0; i < view.shape[0]; ++i) {
    const std::int64_t extent = view.dtype.bits == 64 ? number_at<std::int64_t>(data + 8 * i)
                                                      : number_at<std::int32_t>(data + 4 * i);
    if (extent < 0)
      return invalid("extent ", i, " is ", extent, ", minimum is 0").with_reason("REGISTER");
    extents.push_back(extent);
  }
  return {};
}

Status Machine::place(TensorObject& tensor, Ref<StorageObject> storage, std::int64_t offset,
                      gantry_dtype dtype) {
  const Block& block = *storage->block;
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(tensor.extents, dtype));
  const auto begin = static_cast<std::uint64_t>(offset);
  if (offset < 0 || begin > block.size || bytes > block.size - begin) {
    return invalid("tensor of ", bytes, " bytes at offset ", offset, " of a storage of ",
                   block.size, " bytes")
        .with_reason("STORAGE");
  }
  tensor.view = block.tensor;
  tensor.view.ndim = static_cast<std::int32_t>(tensor.extents.size());
  tensor.view.dtype = dtype;
  tensor.view.shape = tensor.extents.data();
  tensor.view.strides = nullptr;
  // Compiled code accepts an offset only where it declares one.
  if (block.is_opaque) {
    tensor.view.byte_offset += begin;
  } else {
    tensor.view.data = static_cast<char*>(tensor.view.data) + begin;
  }
  tensor.storage = std::move(storage);
  return {};
}

Result<Ref<TensorObject>> Machine::new_tensor(gantry_device_id device, gantry_dtype dtype,
                                              std::span<const std::int64_t> extents,
                                              std::string_view scope) {
  Ref<TensorObject> tensor = heap_.tensor();
  tensor->extents.assign(extents.begin(), extents.end());
  const bool is_plain = scope.empty() || scope == "global";
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(extents, dtype));
  auto block = is_plain ? blocks_->take(device, bytes, stream_of(device))
                        : blocks_->take_scoped(device, scope, extents, dtype, stream_of(device));
  if (!block.ok()) return std::move(block).failure();
  GANTRY_CHECK(place(*tensor, heap_.storage(std::move(*block)), 0, dtype));
  return tensor;
}

Result<Ref<TensorObject>> Machine::new_number(std::int64_t number, gantry_dtype dtype) {
  const std::int64_t one[] = {1};
  GANTRY_TRY(auto tensor, new_tensor(host_device(), dtype, one));
  std::memcpy(tensor->view.data, &number, dtype.bits / 8);
  return tensor;
}

Result<AnyRef> Machine::import_tensor(const gantry_value& value, const gantry_tensor& tensor,
                                      gantry_device_id device) {
  if (!is_compact(tensor)) {
    return invalid("tensor ", tensor_text(tensor), " has strides ",
                   numbers_text(strides_of(tensor)), ", expected dense rows")
        .with_reason("ARGUMENT");
  }
  Ref<TensorObject> made = heap_.tensor();
  const bool is_cpu = device.type == cpu_device_type;
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  const bool fits = same_device(tensor.device, device) &&
                    (is_cpu ? is_aligned_in_place(address) : tensor.byte_offset == 0);
  if (!fits) {
    GANTRY_TRY(auto copy, new_tensor(device, tensor.dtype, gantry::shape_of(tensor)));
    GANTRY_CHECK(host_.tensor_copy(tensor, copy->view, &env_));
    return AnyRef(std::move(copy));
  }
  made->view = tensor;
  made->view.strides = nullptr;
  if (is_cpu) {
    made->view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
    made->view.byte_offset = 0;
  }
  if (value.kind == GANTRY_TENSOR) {
    GANTRY_TRY(made->owner, host_.keep(value));
  }
  return AnyRef(std::move(made));
}

Result<AnyRef> Machine::import_value(const gantry_value& value, gantry_device_id device,
                                     std::uint32_t depth) {
  if (const gantry_tensor* const tensor = gantry_value_tensor(&value))
    return import_tensor(value, *tensor, device);
  if (value.kind != GANTRY_ARRAY || depth == max_nesting) {
    return invalid("value is ",
                   value.kind == GANTRY_ARRAY ? "nested too deeply" : kind_text(value.kind),
                   ", expected a tensor or arrays of tensors, nested ", max_nesting, " times")
        .with_reason("ARGUMENT_KIND");
  }
  GANTRY_TRY(const auto items, host_.items(value.object));
  Ref<TupleObject> tuple = heap_.tuple(ObjectKind::tuple, 0, items.size());
  for (const gantry_value& item : items) {
    GANTRY_TRY(AnyRef field, import_value(item, device, depth + 1));
    tuple->fields.push_back(std::move(field));
  }
  return AnyRef(std::move(tuple));
}

Result<Value> Machine::export_copy(TensorObject& tensor) {
  if (!tensor.copy) {
    GANTRY_TRY(auto copy,
               new_tensor(tensor.view.device, tensor.view.dtype, gantry::shape_of(tensor.view)));
    GANTRY_CHECK(host_.tensor_copy(tensor.view, copy->view, &env_));
    copied_.emplace_back(&tensor);
    tensor.copy = std::move(copy);
  }
  return export_tensor(*tensor.copy);
}

void Machine::drop_copies() {
  for (const Ref<TensorObject>& tensor : copied_) tensor->copy = {};
  copied_.clear();
}

// A view of a block that the caller of an earlier run has released is used again.
Result<Value> Machine::export_tensor(TensorObject& tensor) {
  const gantry_tensor& view = tensor.view;
  const auto is_same = [&](const gantry_tensor& other) {
    return other.data == view.data && other.byte_offset == view.byte_offset &&
           same_dtype(other.dtype, view.dtype) &&
           std::ranges::equal(gantry::shape_of(other), gantry::shape_of(view));
  };
  if (tensor.storage) {
    Block& block = *tensor.storage->block;
    if (block.exported.object() != nullptr && is_same(*block.exported.tensor()))
      return block.exported;
    GANTRY_TRY(block.exported, host_.tensor_view(view, block.memory.object()));
    return block.exported;
  }
  // A caller may write its results, and a tensor by reference need not outlive the call.
  if (tensor.is_constant || tensor.owner.object() == nullptr) return export_copy(tensor);
  if (is_same(*tensor.owner.tensor())) return tensor.owner;
  return host_.tensor_view(view, tensor.owner.object());
}

Result<Value> Machine::export_value(Object* object, std::uint32_t depth) {
  if (++exported_ > max_exported) {
    return exhausted("the result has more than ", max_exported, " items, the limit")
        .with_reason("VM_DEPTH");
  }
  if (object != nullptr && object->kind == ObjectKind::tensor)
    return export_tensor(static_cast<TensorObject&>(*object));
  if (object == nullptr || object->kind != ObjectKind::tuple) {
    return invalid("value is ", found_text(object), ", expected a tensor or a tuple of them")
        .with_reason("REGISTER");
  }
  if (depth == max_nesting) {
    return exhausted("tuples are nested more than ", max_nesting, " times, the limit")
        .with_reason("VM_DEPTH");
  }
  const std::vector<AnyRef>& fields = static_cast<TupleObject*>(object)->fields;
  std::vector<Value> items;
  items.reserve(fields.size());
  for (const AnyRef& field : fields) {
    GANTRY_TRY(Value item, export_value(field.get(), depth + 1));
    items.push_back(std::move(item));
  }
  return host_.array(items);
}

}  // namespace gantry::relay
