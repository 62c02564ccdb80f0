// SPDX-License-Identifier: Apache-2.0
//
// Sorting along one axis, `tvm.contrib.sort.*`: compilers call it instead of a kernel. Equal elements
// keep their order; NaN is larger than every number.
//
// source   apache/tvm src/runtime/contrib/sort/sort.cc
#include "builtin.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

namespace gantry::relax {
namespace {

// Calls visit(T{}) with the C++ type of an element.
template <class Visit>
Status with_type(const Host& host, gantry_dtype dtype, const Visit& visit) {
  struct Row {
    gantry_dtype dtype;
    Status (*run)(const Visit&);
  };
  constexpr Row types[] = {
      {dtypes::float32, [](const Visit& with) { return with(float{}); }},
      {dtypes::float64, [](const Visit& with) { return with(double{}); }},
      {dtypes::int8, [](const Visit& with) { return with(std::int8_t{}); }},
      {dtypes::int16, [](const Visit& with) { return with(std::int16_t{}); }},
      {dtypes::int32, [](const Visit& with) { return with(std::int32_t{}); }},
      {dtypes::int64, [](const Visit& with) { return with(std::int64_t{}); }},
      {dtypes::uint8, [](const Visit& with) { return with(std::uint8_t{}); }},
  };
  for (const Row& type : types) {
    if (same_dtype(type.dtype, dtype)) return type.run(visit);
  }
  return raise(host, "TypeError", "sorting of elements of type ", dtype_text(dtype),
               " is not supported");
}

template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
  }
  return a < b;
}

// A compact tensor on the CPU.
Result<const gantry_tensor*> list_at(const Call& call, std::size_t i) {
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(i));
  if (tensor->device.type != cpu_device_type || !is_compact(*tensor))
    return call.wrong(i, "a compact tensor on the CPU");
  return tensor;
}

template <class T>
T* data_of(const gantry_tensor& tensor) {
  return reinterpret_cast<T*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
}

// The elements of an axis are `inner` apart; there are `outer` x `inner` lists.
struct Axis {
  std::int64_t outer = 1, size = 0, inner = 1;
  std::size_t index = 0;
};

Result<Axis> axis_of(const Host& host, const gantry_tensor& tensor, std::int64_t number) {
  const std::int64_t index = number < 0 ? number + tensor.ndim : number;
  if (index < 0 || index >= tensor.ndim) {
    return raise(host, "ValueError", "axis is ", number, ", the tensor has ", tensor.ndim,
                 " dimensions");
  }
  Axis axis;
  axis.index = static_cast<std::size_t>(index);
  const auto shape = shape_of(tensor);
  axis.size = shape[axis.index];
  // The product of the other extents says nothing about the memory then, and may overflow.
  if (std::ranges::find(shape, 0) != shape.end()) {
    axis.outer = 0;
    return axis;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis.index) (i < axis.index ? axis.outer : axis.inner) *= shape[i];
  }
  return axis;
}

// Checks that an output has the input's shape, with `count` elements on the axis.
Status check_output(const Call& call, std::size_t i, const gantry_tensor& input, const Axis& axis,
                    std::int64_t count) {
  GANTRY_TRY(const gantry_tensor* const output, list_at(call, i));
  std::vector<std::int64_t> expected(shape_of(input).begin(), shape_of(input).end());
  expected[axis.index] = count;
  if (std::ranges::equal(shape_of(*output), expected)) return {};
  return call.wrong(i, concat("a tensor of shape ", numbers_text(expected)));
}

// Between two looks at the task, which take a millisecond.
constexpr std::uint32_t comparisons_per_look = 1 << 16;

// Sorts a part of a list by insertion. Keeps the order of equal elements.
template <class Less>
void sort_part(std::span<std::int64_t> part, const Less& less) {
  for (std::size_t i = 1; i < part.size(); ++i) {
    const std::int64_t moved = part[i];
    std::size_t at = i;
    for (; at != 0 && less(moved, part[at - 1]); --at) part[at] = part[at - 1];
    part[at] = moved;
  }
}

// As std::stable_sort, whose buffer nothing counts.
//
// buffer   [in]   of as many elements
template <class Less>
void stable_sort(std::span<std::int64_t> order, std::span<std::int64_t> buffer, const Less& less) {
  constexpr std::size_t part = 16;
  const std::size_t count = order.size();
  for (std::size_t i = 0; i < count; i += part)
    sort_part(order.subspan(i, std::min(part, count - i)), less);
  std::span<std::int64_t> from = order, to = buffer;
  for (std::size_t sorted = part; sorted < count; sorted *= 2, std::swap(from, to)) {
    for (std::size_t i = 0; i < count; i += 2 * sorted) {
      const std::size_t middle = std::min(i + sorted, count);
      const std::size_t end = std::min(i + 2 * sorted, count);
      std::ranges::merge(from.subspan(i, middle - i), from.subspan(middle, end - middle),
                         to.begin() + static_cast<std::ptrdiff_t>(i), less);
    }
  }
  if (from.data() != order.data()) std::ranges::copy(from, order.begin());
}

// Sorts numbers of elements, as long as the task is not cancelled. `less` compares two of them.
template <class Less>
Status sort_order(const Host& host, const gantry_env* env, std::span<std::int64_t> order,
                  std::span<std::int64_t> buffer, const Less& less) {
  std::uint32_t left = comparisons_per_look;
  try {
    stable_sort(order, buffer, [&](std::int64_t a, std::int64_t b) {
      if (--left == 0) {
        left = comparisons_per_look;
        if (Status task = host.check_task(env); !task.ok())
          throw ErrorThrown(std::move(task).error());
      }
      return less(a, b);
    });
  } catch (const ErrorThrown& ended) {
    return ended.error();
  }
  return {};
}

// What is written for each list: the values or the indices of its first `count` elements.
struct Output {
  const gantry_tensor* values = nullptr;
  const gantry_tensor* indices = nullptr;
  std::int64_t count = 0;
};

Status sort_lists(const Host& host, const std::shared_ptr<StorageMemory>& counted,
                  const gantry_env* env, const gantry_tensor& input, const Axis& axis,
                  bool is_ascending, const Output& output) {
  HostMemory memory(host, counted, "indices of a sort", UINT64_MAX);
  return with_type(host, input.dtype, [&]<class T>(T) -> Status {
    if (axis.outer == 0) return {};
    const T* const from = data_of<const T>(input);
    const auto count = static_cast<std::size_t>(axis.size);
    std::pmr::vector<std::int64_t> order(count, &memory), buffer(count, &memory);
    for (std::int64_t list = 0; list < axis.outer * axis.inner; ++list) {
      GANTRY_CHECK(host.check_task(env));
      const std::int64_t outer = list / axis.inner, inner = list % axis.inner;
      const auto at = [&](std::int64_t i, std::int64_t size) {
        return (outer * size + i) * axis.inner + inner;
      };
      std::iota(order.begin(), order.end(), std::int64_t{0});
      GANTRY_CHECK(sort_order(host, env, order, buffer, [&](std::int64_t a, std::int64_t b) {
        const T x = from[at(a, axis.size)], y = from[at(b, axis.size)];
        return is_ascending ? is_less(x, y) : is_less(y, x);
      }));
      if (output.values != nullptr) {
        for (std::int64_t i = 0; i < output.count; ++i) {
          data_of<T>(*output.values)[at(i, output.count)] =
              from[at(order[static_cast<std::size_t>(i)], axis.size)];
        }
      }
      if (output.indices == nullptr) continue;
      GANTRY_CHECK(with_type(host, output.indices->dtype, [&]<class Index>(Index) -> Status {
        for (std::int64_t i = 0; i < output.count; ++i) {
          data_of<Index>(*output.indices)[at(i, output.count)] =
              static_cast<Index>(order[static_cast<std::size_t>(i)]);
        }
        return {};
      }));
    }
    return {};
  });
}

Result<bool> flag_at(const Call& call, std::size_t i) {
  GANTRY_TRY(const std::int64_t flag, call.integer(i));
  return flag != 0;
}

Status check_values(const Call& call, std::size_t i, const gantry_tensor& input) {
  GANTRY_TRY(const gantry_tensor* const values, call.tensor(i));
  if (same_dtype(values->dtype, input.dtype)) return {};
  return call.wrong(i, concat("a tensor of ", dtype_text(input.dtype)));
}

using Counted = std::shared_ptr<StorageMemory>;

Result<Value> sort_whole(const Host& host, const Call& call, const Counted& memory,
                         bool has_indices) {
  GANTRY_CHECK(call.count_is(4));
  GANTRY_TRY(const gantry_tensor* const input, list_at(call, 0));
  GANTRY_TRY(const std::int64_t number, call.integer(2));
  GANTRY_TRY(const bool is_ascending, flag_at(call, 3));
  GANTRY_TRY(const Axis axis, axis_of(host, *input, number));
  GANTRY_CHECK(check_output(call, 1, *input, axis, axis.size));
  if (!has_indices) GANTRY_CHECK(check_values(call, 1, *input));
  GANTRY_TRY(const gantry_tensor* const output, call.tensor(1));
  GANTRY_CHECK(
      sort_lists(host, memory, call.env, *input, axis, is_ascending,
                 {has_indices ? nullptr : output, has_indices ? output : nullptr, axis.size}));
  return Value();
}

Result<Value> sort(const Host& host, const Call& call, const Counted& memory) {
  return sort_whole(host, call, memory, false);
}
Result<Value> argsort(const Host& host, const Call& call, const Counted& memory) {
  return sort_whole(host, call, memory, true);
}

// topk(x, outputs..., k, axis, "both" | "values" | "indices", ascending); k < 1: all elements.
Result<Value> topk(const Host& host, const Call& call, const Counted& memory) {
  GANTRY_CHECK(call.count_is(6, 7));
  const std::size_t first = call.args.size() - 4;
  GANTRY_TRY(const gantry_tensor* const input, list_at(call, 0));
  GANTRY_TRY(const std::int64_t k, call.integer(first));
  GANTRY_TRY(const std::int64_t number, call.integer(first + 1));
  GANTRY_TRY(const std::string_view what, call.text(first + 2));
  GANTRY_TRY(const bool is_ascending, flag_at(call, first + 3));
  GANTRY_TRY(const Axis axis, axis_of(host, *input, number));
  const bool is_both = what == "both";
  if ((!is_both && what != "values" && what != "indices") || (is_both ? 3u : 2u) != first)
    return call.wrong(first + 2, "both, values or indices, with as many outputs");
  Output output;
  output.count = k < 1 ? axis.size : std::min(k, axis.size);
  for (std::size_t i = 1; i < first; ++i)
    GANTRY_CHECK(check_output(call, i, *input, axis, output.count));
  if (what != "indices") {
    GANTRY_CHECK(check_values(call, 1, *input));
    GANTRY_TRY(output.values, call.tensor(1));
  }
  if (what != "values") {
    GANTRY_TRY(output.indices, call.tensor(first - 1));
  }
  GANTRY_CHECK(sort_lists(host, memory, call.env, *input, axis, is_ascending, output));
  return Value();
}

constexpr Builtin sorting_rows[] = {
    {"tvm.contrib.sort.sort", "sort(x, out, axis, ascending)", nullptr, sort},
    {"tvm.contrib.sort.argsort", "argsort(x, out, axis, ascending)", nullptr, argsort},
    {"tvm.contrib.sort.topk", "topk(x, out, ..., k, axis, what, ascending)", nullptr, topk},
};

}  // namespace

std::span<const Builtin> sorting_builtins() { return sorting_rows; }

}  // namespace gantry::relax
