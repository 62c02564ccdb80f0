// SPDX-License-Identifier: Apache-2.0
//
// Views and copies of tensors, `runtime.TVMTensor*`; until v0.21 `runtime.TVMArray*`.
//
// source   apache/tvm src/runtime/tensor.cc
#include "arguments.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <cstdint>
#include <cstring>

namespace gantry::contrib {
namespace {

Result<const gantry_tensor*> compact_anywhere(const Call& call, std::size_t i) {
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(i));
  if (is_compact(*tensor)) return tensor;
  return call.wrong(i, "a compact tensor");
}

// The tensor has the same memory, and keeps x alive.
Result<Value> create_view(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(4));
  GANTRY_TRY(gantry_object* const owner, call.object(0, GANTRY_TENSOR));
  GANTRY_TRY(const gantry_tensor* const x, compact_anywhere(call, 0));
  GANTRY_TRY(const auto shape, dims_at(services.host, call, 1));
  GANTRY_TRY(const gantry_dtype dtype, call.dtype(2));
  GANTRY_TRY(const std::int64_t offset, call.integer(3));
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape, dtype));
  GANTRY_TRY(const std::uint64_t room, tensor_bytes(shape_of(*x), x->dtype));
  if (offset < 0 || static_cast<std::uint64_t>(offset) > room ||
      bytes > room - static_cast<std::uint64_t>(offset)) {
    return raise(services.host, "ValueError", call.usage, ": view ", type_text(dtype, shape),
                 " of ", bytes, " bytes at offset ", offset, " is not within the ", room,
                 " bytes of ", tensor_text(*x));
  }
  gantry_tensor view = compact_tensor(dtype, shape, x->device, x->data);
  view.byte_offset = x->byte_offset + static_cast<std::uint64_t>(offset);
  return services.host.tensor_view(view, owner);
}

struct Extent {
  std::uintptr_t begin;
  std::uint64_t bytes;
};
Result<Extent> extent_of(const gantry_tensor& tensor) {
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(tensor), tensor.dtype));
  return Extent{reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset, bytes};
}

Result<Value> is_storage_shared(const Services&, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* const a, compact_anywhere(call, 0));
  GANTRY_TRY(const gantry_tensor* const b, compact_anywhere(call, 1));
  GANTRY_TRY(const Extent first, extent_of(*a));
  GANTRY_TRY(const Extent second, extent_of(*b));
  return Value::adopt(bool_value(same_device(a->device, b->device) && first.begin == second.begin &&
                                 first.bytes == second.bytes));
}

// A tensor of another type as so many bytes.
gantry_tensor as_bytes(const gantry_tensor& tensor, const std::int64_t& count) {
  gantry_tensor bytes =
      compact_tensor(dtypes::uint8, std::span(&count, 1), tensor.device, tensor.data);
  bytes.byte_offset = tensor.byte_offset;
  return bytes;
}

Result<Value> copy_from_to(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* const from, compact_anywhere(call, 0));
  GANTRY_TRY(const gantry_tensor* const to, compact_anywhere(call, 1));
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(*from), from->dtype));
  GANTRY_TRY(const std::uint64_t room, tensor_bytes(shape_of(*to), to->dtype));
  if (bytes != room) {
    return call.refuse(tensor_text(*from), " has ", bytes, " bytes, ", tensor_text(*to), " has ",
                       room);
  }
  const auto count = static_cast<std::int64_t>(bytes);
  GANTRY_CHECK(services.host.tensor_copy(as_bytes(*from, count), as_bytes(*to, count), call.env));
  return Value();
}

// copies(x, address, bytes), in either direction.
template <bool is_from_address>
Result<Value> copy_bytes(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(3));
  GANTRY_TRY(const gantry_tensor* const x, compact_anywhere(call, 0));
  if (call.args[1].kind != GANTRY_POINTER) return call.wrong(1, "an address");
  GANTRY_TRY(const std::int64_t count, call.integer(2));
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(*x), x->dtype));
  if (count < 0 || static_cast<std::uint64_t>(count) != bytes)
    return call.refuse(tensor_text(*x), " has ", bytes, " bytes, expected ", count);
  if (bytes == 0) return Value();
  if (call.args[1].p == nullptr) return call.wrong(1, "an address that is not 0");
  const gantry_tensor memory =
      compact_tensor(dtypes::uint8, std::span(&count, 1), {cpu_device_type, 0}, call.args[1].p);
  const gantry_tensor tensor = as_bytes(*x, count);
  GANTRY_CHECK(services.host.tensor_copy(is_from_address ? memory : tensor,
                                         is_from_address ? tensor : memory, call.env));
  return Value();
}

Result<Value> alloc_with_scope(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(4));
  GANTRY_TRY(const auto shape, dims_at(services.host, call, 0));
  GANTRY_TRY(const gantry_dtype dtype, call.dtype(1));
  GANTRY_TRY(const gantry_device_id device, call.device(2));
  std::string_view scope;
  if (call.args[3].kind != GANTRY_NONE) {
    GANTRY_TRY(scope, call.text(3));
  }
  GANTRY_CHECK(tensor_bytes(shape, dtype));
  if (scope == "global") scope = {};
  return services.host.tensor_new(compact_tensor(dtype, shape, device), scope);
}

constexpr std::string_view view_usage = "CreateView(x, shape, dtype, relative_byte_offset)";
constexpr std::string_view copy_usage = "CopyFromTo(from, to)";
constexpr std::string_view from_usage = "CopyFromBytes(x, address, bytes)";
constexpr std::string_view to_usage = "CopyToBytes(x, address, bytes)";
constexpr std::string_view alloc_usage = "AllocWithScope(shape, dtype, device, scope)";

constexpr FunctionRow tensor_rows[] = {
    {"runtime.TVMTensorAllocWithScope", alloc_usage, alloc_with_scope},
    {"runtime.TVMTensorCopyFromBytes", from_usage, copy_bytes<true>},
    {"runtime.TVMTensorCopyFromTo", copy_usage, copy_from_to},
    {"runtime.TVMTensorCopyToBytes", to_usage, copy_bytes<false>},
    {"runtime.TVMTensorCreateView", view_usage, create_view},
    {"runtime.TVMTensorIsStorageShared", "IsStorageShared(a, b)", is_storage_shared},
    {"runtime.TVMArrayAllocWithScope", alloc_usage, alloc_with_scope},
    {"runtime.TVMArrayCopyFromBytes", from_usage, copy_bytes<true>},
    {"runtime.TVMArrayCopyFromTo", copy_usage, copy_from_to},
    {"runtime.TVMArrayCopyToBytes", to_usage, copy_bytes<false>},
    {"runtime.TVMArrayCreateView", view_usage, create_view},
};

}  // namespace

std::span<const FunctionRow> tensor_functions() { return tensor_rows; }

}  // namespace gantry::contrib
