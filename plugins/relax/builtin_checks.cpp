// SPDX-License-Identifier: Apache-2.0
//
// Checks of arguments at the beginning of functions. The last argument of each is a text of the
// compiler that says which value is checked, `ErrorContext(fn=main, loc=param[0], ...)`; it begins
// the text of an error.
#include "builtin.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/tensor_text.hpp>

#include <string>

namespace gantry::relax {
namespace {

// Returns the compiler's text with one blank at its end, which compilers may have written already;
// empty without a text.
std::string context_of(const Call& call) {
  if (call.args.empty()) return {};
  const auto text = value_text(call.args.back());
  if (!text || text->empty()) return {};
  return concat(*text, text->ends_with(' ') ? "" : " ");
}

// Sizes are compared if the expected one is not negative.
bool differs(std::int64_t expected, std::uint64_t found) {
  return expected >= 0 && static_cast<std::uint64_t>(expected) != found;
}

Failure wrong_kind(const Host& host, const Call& call, std::string_view expected) {
  return raise(host, "TypeError", context_of(call), "expect ", expected, " but get ",
               kind_text(call.args[0].kind));
}

// An expected dtype without bits stands for any.
Result<Value> check_tensor(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(2, 4));
  const gantry_tensor* const tensor = gantry_value_tensor(&call.args[0]);
  if (tensor == nullptr) return wrong_kind(host, call, "a Tensor");
  GANTRY_TRY(const std::int64_t ndim, call.integer(1));
  if (differs(ndim, static_cast<std::uint64_t>(tensor->ndim))) {
    return raise(host, "ValueError", context_of(call), "expect Tensor with ndim ", ndim,
                 " but get ", tensor->ndim);
  }
  if (call.args.size() > 2 && call.args[2].kind == GANTRY_DTYPE) {
    const gantry_dtype dtype = call.args[2].dtype;
    if (dtype.bits != 0 && !same_dtype(dtype, tensor->dtype)) {
      return raise(host, "ValueError", context_of(call), "expect Tensor with dtype ",
                   dtype_text(dtype), " but get ", dtype_text(tensor->dtype));
    }
  }
  return Value();
}

Result<Value> check_shape(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(2, 3));
  const auto shape = value_shape(call.args[0]);
  if (!shape) return wrong_kind(host, call, "a Shape");
  GANTRY_TRY(const std::int64_t ndim, call.integer(1));
  if (differs(ndim, shape->size())) {
    return raise(host, "ValueError", context_of(call), "expect Shape with ndim ", ndim, " but get ",
                 shape->size());
  }
  return Value();
}

Result<Value> check_tuple(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(2, 3));
  if (call.args[0].kind != GANTRY_ARRAY) return wrong_kind(host, call, "a Tuple");
  GANTRY_TRY(const auto items, host.items(call.args[0].object));
  GANTRY_TRY(const std::int64_t size, call.integer(1));
  if (differs(size, items.size())) {
    return raise(host, "ValueError", context_of(call), "expect a Tuple with ", size,
                 " elements, but get a Tuple with ", items.size(), " elements.");
  }
  return Value();
}

// A number converts to a wider kind only: a boolean to an integer, and either to a float.
Result<Value> check_prim_value(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(2, 3));
  if (call.args[1].kind != GANTRY_DTYPE) return call.wrong(1, "a dtype");
  const gantry_dtype dtype = call.args[1].dtype;
  const std::int32_t kind = call.args[0].kind;
  const bool is_integer = kind == GANTRY_INT || kind == GANTRY_BOOL;
  const auto code = static_cast<TypeCode>(dtype.code);
  const bool fits = code == TypeCode::handle
                        ? kind == GANTRY_POINTER
                        : is_integer || (kind == GANTRY_FLOAT &&
                                         (code == TypeCode::float_ || code == TypeCode::bfloat));
  if (!fits) return wrong_kind(host, call, concat("a number of type ", dtype_text(dtype)));
  return Value();
}

Result<Value> check_func(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1, 2));
  const std::int32_t kind = call.args[0].kind;
  // Closures are opaque objects.
  if (kind != GANTRY_FUNCTION && kind != GANTRY_OBJECT) return wrong_kind(host, call, "a Function");
  return Value();
}

Result<Value> check_string(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1, 2));
  const std::int32_t kind = call.args[0].kind;
  const bool is_text =
      kind == GANTRY_STRING || kind == GANTRY_SMALL_STRING || kind == GANTRY_CSTRING;
  if (!is_text) return wrong_kind(host, call, "a String");
  return Value();
}

// What a size of a shape is compared with.
enum MatchCode : std::int64_t { match_number, match_store, match_any, match_stored };

// The numbers of a shape that the function has met so far.
Result<std::span<std::int64_t>> heap_of(const Call& call, std::size_t i) {
  if (i < call.args.size() && call.args[i].kind == GANTRY_NONE) return std::span<std::int64_t>();
  return shape_heap(call, i);
}

// axis     [in]   for messages; -1: the value is a number
Status match(const Host& host, const Call& call, std::span<std::int64_t> heap, std::int64_t code,
             std::int64_t expected, std::int64_t found, std::int64_t axis) {
  const std::string subject = axis >= 0 ? concat("shape[", axis, "]") : std::string("value");
  const bool uses_heap = code == match_store || code == match_stored;
  if (uses_heap && (expected < 0 || static_cast<std::uint64_t>(expected) >= heap.size())) {
    return call.refuse("number ", expected, " of the shape heap, which has ", heap.size());
  }
  switch (code) {
    case match_number:
      if (found == expected) return {};
      return raise(host, "RuntimeError", context_of(call), "match_cast error, ", subject,
                   " mismatch to specified constant: found ", found, ", expected ", expected);
    case match_store:
      heap[static_cast<std::size_t>(expected)] = found;
      return {};
    case match_any:
      return {};
    case match_stored:
      if (found == heap[static_cast<std::size_t>(expected)]) return {};
      return raise(host, "RuntimeError", context_of(call), "match_cast error, ", subject,
                   " mismatch to a previous populated value: found ", found, ", expected ",
                   heap[static_cast<std::size_t>(expected)]);
    default:
      return call.refuse("code ", code, " of a comparison, range is 0 to 3");
  }
}

Result<Value> match_shape(const Host& host, const Call& call) {
  if (call.args.size() < 3) return call.refuse("argument count is ", call.args.size());
  std::span<const std::int64_t> shape;
  if (const gantry_tensor* tensor = gantry_value_tensor(&call.args[0])) {
    shape = shape_of(*tensor);
  } else if (const auto dims = value_shape(call.args[0])) {
    shape = *dims;
  } else {
    return wrong_kind(host, call, "a Tensor or a Shape");
  }
  GANTRY_TRY(const auto heap, heap_of(call, 1));
  GANTRY_TRY(const std::int64_t size, call.integer(2));
  if (static_cast<std::uint64_t>(size) != shape.size()) {
    return raise(host, "RuntimeError", context_of(call), "match_cast shape size mismatch: found ",
                 shape.size(), ", expected ", size);
  }
  if (call.args.size() < 3 + 2 * shape.size())
    return call.refuse("argument count is ", call.args.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    GANTRY_TRY(const std::int64_t code, call.integer(3 + 2 * axis));
    GANTRY_TRY(const std::int64_t expected, call.integer(4 + 2 * axis));
    GANTRY_CHECK(
        match(host, call, heap, code, expected, shape[axis], static_cast<std::int64_t>(axis)));
  }
  return Value();
}

Result<Value> match_prim_value(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(4, 5));
  const auto found = value_int(call.args[0]);
  if (!found) return wrong_kind(host, call, "an integer");
  GANTRY_TRY(const auto heap, heap_of(call, 1));
  GANTRY_TRY(const std::int64_t code, call.integer(2));
  GANTRY_TRY(const std::int64_t expected, call.integer(3));
  GANTRY_CHECK(match(host, call, heap, code, expected, *found, -1));
  return Value();
}

constexpr Builtin check_rows[] = {
    {"vm.builtin.check_tensor_info", "check_tensor_info(x, ndim, dtype, context)", check_tensor},
    {"vm.builtin.check_shape_info", "check_shape_info(x, ndim, context)", check_shape},
    {"vm.builtin.check_tuple_info", "check_tuple_info(x, size, context)", check_tuple},
    {"vm.builtin.check_prim_value_info", "check_prim_value_info(x, dtype, context)",
     check_prim_value},
    {"vm.builtin.check_func_info", "check_func_info(x, context)", check_func},
    {"vm.builtin.check_string_info", "check_string_info(x, context)", check_string},
    {"vm.builtin.match_shape", "match_shape(x, heap, ndim, code, number, ..., context)",
     match_shape},
    {"vm.builtin.match_prim_value", "match_prim_value(x, heap, code, number, context)",
     match_prim_value},
};

}  // namespace

std::span<const Builtin> check_builtins() { return check_rows; }

}  // namespace gantry::relax
