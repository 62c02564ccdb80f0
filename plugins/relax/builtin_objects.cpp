// SPDX-License-Identifier: Apache-2.0
//
// Tuples, closures and conditions.
#include "closure.hpp"
#include "vm.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <cstring>

namespace gantry::relax {
namespace {

Result<Value> make_tuple(const Host& host, const Call& call) {
  std::vector<Value> items;
  items.reserve(call.args.size());
  for (const gantry_value& arg : call.args) {
    GANTRY_TRY(Value item, keep_or_copy(host, arg, call.env));
    items.push_back(std::move(item));
  }
  return host.array(items);
}

Result<Value> tuple_getitem(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(gantry_object* const tuple, call.object(0, GANTRY_ARRAY));
  GANTRY_TRY(const std::int64_t index, call.integer(1));
  GANTRY_TRY(const auto items, host.items(tuple));
  if (index < 0 || static_cast<std::uint64_t>(index) >= items.size()) {
    return raise(host, "IndexError", "index ", index, " of a tuple of ", items.size(), " elements");
  }
  return host.keep(items[static_cast<std::size_t>(index)]);
}

// Compilers emit it where an element is no longer used. Tuples of the ABI do not change, so the
// element is released with its tuple.
Result<Value> tuple_reset_item(const Host&, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_CHECK(call.object(0, GANTRY_ARRAY));
  return Value();
}

// A condition is a number, or a tensor of one integer or boolean on any device.
Result<Value> read_if_cond(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  if (const auto number = value_int(call.args[0])) return Value::adopt(bool_value(*number != 0));
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(0));
  const auto code = static_cast<TypeCode>(tensor->dtype.code);
  const bool is_integer =
      code == TypeCode::int_ || code == TypeCode::uint || code == TypeCode::bool_;
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(*tensor), tensor->dtype));
  std::uint64_t number = 0;
  if (!is_integer || tensor->ndim != 0 || bytes > sizeof number)
    return call.wrong(0, "a condition: one integer or boolean");
  const gantry_tensor one = compact_tensor(tensor->dtype, {}, {cpu_device_type, 0}, &number);
  GANTRY_CHECK(host.tensor_copy(*tensor, one, call.env));
  return Value::adopt(bool_value(number != 0));
}

Result<Value> new_closure(const Host& host, const Call& call,
                          const std::shared_ptr<StorageMemory>& memory) {
  if (call.args.empty()) return call.wrong(0, "a function");
  return make_closure(host, memory, call.args[0], call.args.subspan(1), call.env);
}

Result<Value> invoke_closure(const Host&, const Call& call) {
  GANTRY_TRY(Vm* const vm, Vm::of(call, 0));
  if (call.args.size() < 2 || call.args[1].kind < GANTRY_OBJECT) return call.wrong(1, "a closure");
  return vm->invoke_closure(call.args[1].object, call.env, call.args.subspan(2));
}

// Calls function(tensors..., numbers of the shape...).
Result<Value> call_tir_dyn(const Host& host, const Call& call) {
  if (call.args.size() < 2) return call.refuse("argument count is ", call.args.size());
  GANTRY_TRY(gantry_object* const function, call.object(0, GANTRY_FUNCTION));
  GANTRY_TRY(const auto shape, call.shape(call.args.size() - 1));
  // The function may be this one.
  GANTRY_CHECK(Vm::check_room());
  return Vm::call_with(host, function, call.env, call.args.subspan(1, call.args.size() - 2), shape);
}

constexpr Builtin object_rows[] = {
    {"vm.builtin.make_tuple", "make_tuple(...)", make_tuple},
    {"vm.builtin.tuple_getitem", "tuple_getitem(tuple, index)", tuple_getitem},
    {"vm.builtin.tuple_reset_item", "tuple_reset_item(tuple, index)", tuple_reset_item},
    {"vm.builtin.read_if_cond", "read_if_cond(x)", read_if_cond},
    {"vm.builtin.make_closure", "make_closure(function, ...)", nullptr, new_closure},
    {"vm.builtin.invoke_closure", "invoke_closure(vm, closure, ...)", invoke_closure},
    {"vm.builtin.call_tir_dyn", "call_tir_dyn(function, ..., shape)", call_tir_dyn},
};

}  // namespace

std::span<const Builtin> object_builtins() { return object_rows; }

}  // namespace gantry::relax
