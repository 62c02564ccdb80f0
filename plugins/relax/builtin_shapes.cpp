// SPDX-License-Identifier: Apache-2.0
//
// Shapes that are known at run time. The shape heap of a function is a list of numbers on the CPU,
// which kernels change, too.
#include "vm.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <array>
#include <cstring>

namespace gantry::relax {
namespace {

constexpr std::int64_t max_heap = std::int64_t{1} << 20;
// The number of dimensions of arrays is limited, too.
constexpr std::int64_t max_dimensions = 1024;

Result<Value> alloc_heap(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(Vm* const vm, Vm::of(call, 0));
  GANTRY_TRY(std::int64_t size, call.integer(1));
  if (size < 0 || size > max_heap)
    return call.refuse("heap of ", size, " numbers, range is 0 to ", max_heap);
  GANTRY_TRY(const gantry_device_id cpu, vm->device(-1));
  GANTRY_TRY(Value heap, host.tensor_new(compact_tensor(dtypes::int64, {&size, 1}, cpu)));
  if (size != 0) std::memset(heap.tensor()->data, 0, static_cast<std::size_t>(size) * 8);
  return heap;
}

// Returns a number that is written in the code (0) or in the heap (1).
Result<std::int64_t> number_at(const Call& call, std::size_t i) {
  GANTRY_TRY(const std::int64_t code, call.integer(i));
  GANTRY_TRY(const std::int64_t number, call.integer(i + 1));
  if (code == 0) return number;
  if (code != 1) return call.refuse("code ", code, " of a number, range is 0 to 1");
  GANTRY_TRY(const auto heap, shape_heap(call, 0));
  if (number < 0 || static_cast<std::uint64_t>(number) >= heap.size())
    return call.refuse("number ", number, " of the shape heap, which has ", heap.size());
  return heap[static_cast<std::size_t>(number)];
}

Result<Value> make_shape(const Host& host, const Call& call) {
  if (call.args.size() < 2) return call.refuse("argument count is ", call.args.size());
  GANTRY_TRY(const std::int64_t size, call.integer(1));
  if (size < 0 || size > max_dimensions)
    return call.refuse("shape of ", size, " dimensions, range is 0 to ", max_dimensions);
  GANTRY_CHECK(call.count_is(2 + 2 * static_cast<std::size_t>(size)));
  std::array<std::int64_t, max_dimensions> dims;
  for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
    GANTRY_TRY(dims[i], number_at(call, 2 + 2 * i));
  }
  return host.shape(std::span(dims).first(static_cast<std::size_t>(size)));
}

Result<Value> make_prim_value(const Host&, const Call& call) {
  GANTRY_CHECK(call.count_is(3));
  GANTRY_TRY(const std::int64_t number, number_at(call, 1));
  return Value::adopt(int_value(number));
}

Result<Value> shape_of_tensor(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(0));
  return host.shape(shape_of(*tensor));
}

// Returns element i of a list of integers on the CPU.
std::int64_t element(const gantry_tensor& list, std::int64_t i) {
  const char* const data = static_cast<const char*>(list.data) + list.byte_offset;
  const auto read = [&]<class Number>(Number) -> std::int64_t {
    Number number;
    std::memcpy(&number, data + i * static_cast<std::int64_t>(sizeof number), sizeof number);
    return number;
  };
  switch (list.dtype.bits) {
    case 8:
      return read(std::int8_t{});
    case 16:
      return read(std::int16_t{});
    case 32:
      return read(std::int32_t{});
    default:
      return read(std::int64_t{});
  }
}

Result<Value> tensor_to_shape(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(0));
  const bool is_list = tensor->ndim == 1 && tensor->dtype.lanes == 1 &&
                       tensor->dtype.code == static_cast<std::uint8_t>(TypeCode::int_) &&
                       tensor->shape[0] <= max_dimensions;
  if (!is_list) return call.wrong(0, "a list of integers");
  GANTRY_TRY(const Value list, host.tensor_copied(*tensor, {cpu_device_type, 0}, call.env));
  std::array<std::int64_t, max_dimensions> dims;
  for (std::int64_t i = 0; i < tensor->shape[0]; ++i)
    dims[static_cast<std::size_t>(i)] = element(*list.tensor(), i);
  return host.shape(std::span(dims).first(static_cast<std::size_t>(tensor->shape[0])));
}

constexpr Builtin shape_rows[] = {
    {"vm.builtin.alloc_shape_heap", "alloc_shape_heap(vm, size)", alloc_heap},
    {"vm.builtin.make_shape", "make_shape(heap, ndim, code, number, ...)", make_shape},
    {"vm.builtin.make_prim_value", "make_prim_value(heap, code, number)", make_prim_value},
    {"vm.builtin.shape_of", "shape_of(x)", shape_of_tensor},
    {"vm.builtin.tensor_to_shape", "tensor_to_shape(x)", tensor_to_shape},
};

}  // namespace

Result<std::span<std::int64_t>> shape_heap(const Call& call, std::size_t i) {
  GANTRY_TRY(const gantry_tensor* const heap, call.tensor(i));
  if (heap->device.type != cpu_device_type || heap->ndim != 1 || heap->byte_offset != 0 ||
      !same_dtype(heap->dtype, dtypes::int64) || !is_compact(*heap)) {
    return call.wrong(i, "a shape heap: a list of numbers on the CPU");
  }
  return std::span(static_cast<std::int64_t*>(heap->data),
                   static_cast<std::size_t>(heap->shape[0]));
}

std::span<const Builtin> shape_builtins() { return shape_rows; }

}  // namespace gantry::relax
