// SPDX-License-Identifier: Apache-2.0
//
// Memory and tensors.
#include "vm.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

namespace gantry::relax {
namespace {

// The memory scope of an optional argument.
std::string_view scope_at(const Call& call, std::size_t i) {
  if (i >= call.args.size()) return {};
  const std::string_view scope = value_text(call.args[i]).value_or("");
  return scope == "global" ? std::string_view() : scope;
}

Result<Value> alloc_storage(const Host&, const Call& call) {
  GANTRY_CHECK(call.count_is(4, 5));
  GANTRY_TRY(Vm* const vm, Vm::of(call, 0));
  GANTRY_TRY(const auto shape, call.shape(1));
  GANTRY_TRY(const std::int64_t index, call.integer(2));
  GANTRY_TRY(const gantry_dtype dtype, call.dtype(3));
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape, dtype));
  GANTRY_TRY(const gantry_device_id device, vm->device(index));
  void* const stream = call.env != nullptr ? gantry_env_stream(call.env, device) : nullptr;
  GANTRY_TRY(Value storage, vm->code().pool->take(device, bytes, scope_at(call, 4), stream));
  vm->captures().keep(storage);
  return storage;
}

Result<Value> alloc_tensor(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(4, 5));
  GANTRY_TRY(gantry_object* const storage, call.object(0, GANTRY_OBJECT));
  GANTRY_TRY(const std::int64_t offset, call.integer(1));
  GANTRY_TRY(const auto shape, call.shape(2));
  GANTRY_TRY(const gantry_dtype dtype, call.dtype(3));
  if (offset < 0) return call.refuse("offset is ", offset, ", minimum is 0");
  return tensor_in(host, storage, static_cast<std::uint64_t>(offset), compact_tensor(dtype, shape));
}

Result<Value> null_value(const Host&, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return Value();
}

Result<Value> copy(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  return host.keep(call.args[0]);
}

Result<Value> reshape(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(gantry_object* const object, call.object(0, GANTRY_TENSOR));
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(0));
  GANTRY_TRY(const auto shape, call.shape(1));
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape, tensor->dtype));
  GANTRY_TRY(const std::uint64_t own, tensor_bytes(shape_of(*tensor), tensor->dtype));
  if (bytes != own) {
    return raise(host, "ValueError", "reshape of ", tensor_text(*tensor), " to ",
                 type_text(tensor->dtype, shape), ", which has another number of elements");
  }
  if (!is_compact(*tensor)) {
    return raise(host, "ValueError", "reshape of ", tensor_text(*tensor),
                 ", whose elements are not compact");
  }
  gantry_tensor view = compact_tensor(tensor->dtype, shape, tensor->device, tensor->data);
  view.byte_offset = tensor->byte_offset;
  return host.tensor_view(view, object);
}

// A tensor that is on the device already is returned, unless it would need another scope.
Result<Value> to_device(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(3, 4));
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(0));
  GANTRY_TRY(const std::int32_t type, call.integer32(1));
  GANTRY_TRY(const std::int32_t index, call.integer32(2));
  const std::string_view scope = scope_at(call, 3);
  const gantry_device_id device{type, index};
  if (same_device(tensor->device, device) && scope.empty()) return host.keep(call.args[0]);
  return host.tensor_copied(*tensor, device, call.env, scope);
}

Result<Value> ensure_zero_offset(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(0));
  if (tensor->byte_offset == 0) return host.keep(call.args[0]);
  return host.tensor_copied(*tensor, tensor->device, call.env);
}

// Memory in use stays valid.
Result<Value> clear_memory(const Host&, const Call& call,
                           const std::shared_ptr<StorageMemory>& memory) {
  GANTRY_CHECK(call.count_is(0));
  memory->free_unused();
  return Value();
}

constexpr Builtin tensor_rows[] = {
    {"vm.builtin.alloc_storage", "alloc_storage(vm, shape, device, dtype, scope)", alloc_storage},
    {"vm.builtin.alloc_tensor", "alloc_tensor(storage, offset, shape, dtype, scope)", alloc_tensor},
    {"vm.builtin.null_value", "null_value()", null_value},
    {"vm.builtin.copy", "copy(value)", copy},
    {"vm.builtin.reshape", "reshape(x, shape)", reshape},
    {"vm.builtin.to_device", "to_device(x, type, index, scope)", to_device},
    {"vm.builtin.ensure_zero_offset", "ensure_zero_offset(x)", ensure_zero_offset},
    {"vm.builtin.memory_manager.clear", "clear()", nullptr, clear_memory},
};

}  // namespace

std::span<const Builtin> tensor_builtins() { return tensor_rows; }

}  // namespace gantry::relax
