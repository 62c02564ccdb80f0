// SPDX-License-Identifier: Apache-2.0
//
// Functions that TVM has in Python only: `relax.run.*`, `tvm.default_trace_action` and
// `vm.builtin.debug_print`.
//
// source   apache/tvm python/tvm/relax/op/base.py, python/tvm/relax/op/set.py,
//          python/tvm/relax/frontend/nn/op.py, python/tvm/tirx/op.py
#include "arguments.hpp"
#include "format_text.hpp"
#include "number_text.hpp"
#include "sort_keys.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/raised_error.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace gantry::contrib {
namespace {

constexpr gantry_device_id cpu{cpu_device_type, 0};

bool is_bool(gantry_dtype type) {
  const auto code = static_cast<TypeCode>(type.code);
  return type.lanes == 1 && ((code == TypeCode::bool_ && type.bits == 8) ||
                             (code == TypeCode::uint && type.bits == 1));
}

// relax.run.shape_to_tensor(shape): int64[n]
Result<Value> shape_to_tensor(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const auto dims, dims_at(services.host, call, 0));
  const std::int64_t count = static_cast<std::int64_t>(dims.size());
  GANTRY_TRY(Value made,
             services.host.tensor_new(compact_tensor(dtypes::int64, std::span(&count, 1), cpu)));
  std::ranges::copy(dims, data_of<std::int64_t>(*made.tensor()));
  return made;
}

// Bits of an element that are 0 in a zero; 0: there is no zero.
Result<std::uint64_t> zero_bits(const Call& call, gantry_dtype type) {
  const auto code = static_cast<TypeCode>(type.code);
  const bool is_whole = type.bits == 8 || type.bits == 16 || type.bits == 32 || type.bits == 64;
  if (type.lanes != 1 || !(is_whole || is_bool(type)) || code > TypeCode::float8_e8m0fnu ||
      code == TypeCode::handle || code == TypeCode::complex)
    return call.wrong(0, "a tensor of numbers");
  const std::uint64_t all =
      type.bits >= 64 ? UINT64_MAX : (std::uint64_t{1} << std::max<int>(type.bits, 8)) - 1;
  switch (code) {
    case TypeCode::float8_e8m0fnu:
      return std::uint64_t{0};
    case TypeCode::int_:
    case TypeCode::uint:
    case TypeCode::bool_:
    // their only zero has no sign
    case TypeCode::float8_e4m3b11fnuz:
    case TypeCode::float8_e4m3fnuz:
    case TypeCode::float8_e5m2fnuz:
      return all;
    default:
      return all >> 1;
  }
}

template <class Bits>
Result<Value> nonzero_of(const Services& services, const Call& call, const gantry_tensor& x,
                         std::uint64_t mask) {
  const Bits* const elements = data_of<const Bits>(x);
  const auto is_nonzero = [&](std::int64_t i) {
    return mask == 0 || (elements[i] & static_cast<Bits>(mask)) != 0;
  };
  std::vector<std::int64_t> shape(shape_of(x).begin(), shape_of(x).end());
  if (shape.empty()) shape.push_back(1);
  std::int64_t size = is_empty(x) ? 0 : 1, count = 0;
  for (std::size_t axis = 0; size != 0 && axis < shape.size(); ++axis) size *= shape[axis];
  const Work work{services.host, call.env, services.threads};
  GANTRY_CHECK(work.for_each({0, size}, [&](std::int64_t i) { count += is_nonzero(i); }));
  const std::int64_t out_shape[] = {static_cast<std::int64_t>(shape.size()), count};
  GANTRY_TRY(Value made, services.host.tensor_new(compact_tensor(dtypes::int64, out_shape, cpu)));
  std::int64_t* const out = data_of<std::int64_t>(*made.tensor());
  std::int64_t found = 0;
  GANTRY_CHECK(work.for_each({0, size}, [&](std::int64_t i) {
    // Other threads may write to the tensor.
    if (!is_nonzero(i) || found == count) return;
    std::int64_t rest = i;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
      out[static_cast<std::int64_t>(axis) * count + found] = rest % shape[axis];
    ++found;
  }));
  return made;
}

// relax.run.nonzero(x): int64[rank, count], in row-major order.
Result<Value> nonzero(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const gantry_tensor* const x, compact_at(call, 0));
  GANTRY_TRY(const std::uint64_t mask, zero_bits(call, x->dtype));
  if (!is_empty(*x)) GANTRY_CHECK(tensor_bytes(shape_of(*x), x->dtype));
  switch (element_bytes(x->dtype)) {
    case 1:
      return nonzero_of<std::uint8_t>(services, call, *x, mask);
    case 2:
      return nonzero_of<std::uint16_t>(services, call, *x, mask);
    case 4:
      return nonzero_of<std::uint32_t>(services, call, *x, mask);
    default:
      return nonzero_of<std::uint64_t>(services, call, *x, mask);
  }
}

// Slices of a tensor along an axis, or its elements.
class Slices {
 public:
  // keys of elements, and where they are
  std::pmr::vector<std::uint64_t> keys;
  Axis axis;
  // The elements themselves: NaN equals NaN.
  bool is_flat = false;
  // Of NaN; there is none in types that are no floats.
  std::uint64_t nan_key = 0;
  bool has_nan_key = false;

  explicit Slices(std::pmr::memory_resource* memory) : keys(memory) {}

  std::int64_t count() const { return axis.size; }
  std::int64_t length() const { return axis.outer * axis.inner; }
  // Element `i` of a slice.
  std::int64_t at(std::int64_t slice, std::int64_t i) const {
    return (i / axis.inner * axis.size + slice) * axis.inner + i % axis.inner;
  }
  std::uint64_t key(std::int64_t slice, std::int64_t i) const {
    return keys[static_cast<std::size_t>(at(slice, i))];
  }
  // < 0, 0 or > 0
  int compare(std::int64_t a, std::int64_t b) const {
    for (std::int64_t i = 0; i < length(); ++i) {
      const std::uint64_t first = key(a, i), second = key(b, i);
      if (first != second) return first < second ? -1 : 1;
    }
    return 0;
  }
  bool is_equal(std::int64_t a, std::int64_t b) const {
    if (compare(a, b) != 0) return false;
    if (is_flat || !has_nan_key) return true;
    for (std::int64_t i = 0; i < length(); ++i) {
      if (key(a, i) == nan_key) return false;
    }
    return true;
  }
};

// Slices that are equal.
struct Group {
  std::int64_t first, count;
};

// Reads the keys of all elements.
Status read_keys(const Work& work, const Call& call, const gantry_tensor& x, Slices& slices) {
  gantry_dtype type = x.dtype;
  if (is_bool(type)) type = dtypes::uint8;
  Status done;
  const bool is_known = visit_element(type, [&]<class T>(T) {
    const T* const elements = data_of<const T>(x);
    const auto size = static_cast<std::int64_t>(slices.keys.size());
    done = work.for_each({0, size}, [&](std::int64_t i) {
      slices.keys[static_cast<std::size_t>(i)] = key_of(elements[i]);
    });
    slices.has_nan_key = type.code == dtypes::float32.code || type.code == dtypes::bfloat16.code;
    slices.nan_key = std::numeric_limits<decltype(key_of(T{}))>::max();
  });
  if (!is_known) return call.wrong(0, "a tensor of numbers");
  return done;
}

Result<Value> unique(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(5, 6));
  GANTRY_TRY(const gantry_tensor* const x, compact_at(call, 0));
  bool flags[4];
  for (std::size_t i = 0; i < std::size(flags); ++i) {
    GANTRY_TRY(flags[i], call.flag(i + 1));
  }
  const auto [is_sorted, has_index, has_inverse, has_counts] = flags;
  HostMemory memory(services.host, services.memory, "elements of unique()", UINT64_MAX);
  Slices slices(&memory);
  slices.is_flat = call.args.size() == 5 || call.args[5].kind == GANTRY_NONE;
  const bool has_elements = !is_empty(*x);
  std::uint64_t bytes = 0;
  if (has_elements) {
    GANTRY_TRY(bytes, tensor_bytes(shape_of(*x), x->dtype));
  }
  const std::uint64_t unit = element_bytes(x->dtype);
  const auto size = static_cast<std::int64_t>(unit == 0 ? 0 : bytes / unit);
  if (slices.is_flat) {
    slices.axis = {1, size, 1, 0};
  } else {
    GANTRY_TRY(const std::int64_t number, call.integer(5));
    GANTRY_TRY(slices.axis, axis_of(services.host, *x, number));
    if (!has_elements) slices.axis.size = 0;
  }
  slices.keys.resize(static_cast<std::size_t>(size));
  const Work work{services.host, call.env, services.threads};
  GANTRY_CHECK(read_keys(work, call, *x, slices));

  const std::int64_t count = slices.count();
  std::pmr::vector<std::int64_t> order(static_cast<std::size_t>(count), &memory);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  // Looks at the task after as many elements as take about a millisecond.
  std::int64_t compared = 0;
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    compared += slices.length();
    if (compared >= (1 << 17)) {
      compared = 0;
      if (Status task = services.host.check_task(call.env); !task.ok())
        throw ErrorThrown(std::move(task).error());
    }
    const int difference = slices.compare(a, b);
    return difference != 0 ? difference < 0 : a < b;
  });
  std::pmr::vector<Group> groups(&memory);
  std::pmr::vector<std::int64_t> group_of(static_cast<std::size_t>(count), &memory);
  for (const std::int64_t slice : order) {
    if (groups.empty() || !slices.is_equal(groups.back().first, slice))
      groups.push_back({slice, 0});
    ++groups.back().count;
    group_of[static_cast<std::size_t>(slice)] = static_cast<std::int64_t>(groups.size()) - 1;
  }
  // place[g]: the number of group g among the values
  std::pmr::vector<std::int64_t> place(groups.size(), &memory);
  std::iota(place.begin(), place.end(), std::int64_t{0});
  if (!is_sorted) {
    std::pmr::vector<std::int64_t> by_first(place, &memory);
    std::ranges::sort(by_first, {},
                      [&](std::int64_t g) { return groups[static_cast<std::size_t>(g)].first; });
    for (std::size_t i = 0; i < by_first.size(); ++i)
      place[static_cast<std::size_t>(by_first[i])] = static_cast<std::int64_t>(i);
  }

  const auto found = static_cast<std::int64_t>(groups.size());
  std::vector<std::int64_t> shape = {found};
  if (!slices.is_flat) {
    shape.assign(shape_of(*x).begin(), shape_of(*x).end());
    shape[slices.axis.index] = found;
  }
  std::vector<Value> results;
  GANTRY_TRY(Value values, services.host.tensor_new(compact_tensor(x->dtype, shape, cpu)));
  const char* const from = data_of<const char>(*x);
  char* const to = data_of<char>(*values.tensor());
  const std::int64_t inner = slices.axis.inner;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    GANTRY_CHECK(services.host.check_task(call.env));
    for (std::int64_t i = 0; i < slices.length(); ++i) {
      const std::int64_t out = (i / inner * found + place[g]) * inner + i % inner;
      std::memcpy(to + static_cast<std::uint64_t>(out) * unit,
                  from + static_cast<std::uint64_t>(slices.at(groups[g].first, i)) * unit, unit);
    }
  }
  results.push_back(std::move(values));
  const auto add = [&](std::int64_t elements, const auto& fill) -> Status {
    GANTRY_TRY(Value made, services.host.tensor_new(
                               compact_tensor(dtypes::int64, std::span(&elements, 1), cpu)));
    fill(data_of<std::int64_t>(*made.tensor()));
    results.push_back(std::move(made));
    return {};
  };
  if (has_index) {
    GANTRY_CHECK(add(found, [&](std::int64_t* out) {
      for (std::size_t g = 0; g < groups.size(); ++g) out[place[g]] = groups[g].first;
    }));
  }
  if (has_inverse) {
    GANTRY_CHECK(add(count, [&](std::int64_t* out) {
      for (std::int64_t slice = 0; slice < count; ++slice)
        out[slice] = place[static_cast<std::size_t>(group_of[static_cast<std::size_t>(slice)])];
    }));
  }
  if (has_counts) {
    GANTRY_CHECK(add(found, [&](std::int64_t* out) {
      for (std::size_t g = 0; g < groups.size(); ++g) out[place[g]] = groups[g].count;
    }));
  }
  if (results.size() == 1) return std::move(results.front());
  return services.host.array(results);
}

// A format and its values as a text.
//
// begin    [in]   number of the argument that is the format
// between  [in]   joins the values if the format is empty
Result<std::string> formatted(const Services& services, const Call& call, std::size_t begin,
                              std::string_view between) {
  GANTRY_TRY(const std::string_view format, call.text(begin));
  std::vector<std::string> values;
  for (const gantry_value& value : call.args.subspan(begin + 1)) {
    GANTRY_TRY(std::string text, value_lines(services.host, call.env, value));
    values.push_back(std::move(text));
  }
  if (!format.empty()) return format_texts(services.host, format, values);
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? std::string() : std::string(between)) + values[i];
  return text;
}

Result<Value> print(const Services& services, const Call& call) {
  if (call.args.empty()) return call.wrong(0, "a format");
  GANTRY_TRY(const std::string text, formatted(services, call, 0, " "));
  GANTRY_CHECK(services.output.line(text));
  return Value();
}

// relax.run.assert_op(condition, format, values...)
Result<Value> assert_op(const Services& services, const Call& call) {
  if (call.args.empty()) return call.wrong(0, "a condition");
  bool holds = false;
  if (const auto number = value_int(call.args[0])) {
    holds = *number != 0;
  } else {
    GANTRY_TRY(const gantry_tensor* const condition, call.tensor(0));
    if (condition->ndim != 0) {
      GANTRY_TRY(Value shape, services.host.shape(shape_of(*condition)));
      GANTRY_TRY(const std::string text, value_lines(services.host, call.env, shape.get()));
      return raised_error(services.host, "ValueError",
                          "The condition must be a scalar, but it has a shape of " + text);
    }
    if (!is_bool(condition->dtype)) {
      return raised_error(services.host, "ValueError",
                          concat("The condition must be a bool scalar, but given a ",
                                 dtype_text(condition->dtype), " tensor"));
    }
    std::uint8_t byte = 0;
    const gantry_tensor one = compact_tensor(condition->dtype, {}, cpu, &byte);
    GANTRY_CHECK(services.host.tensor_copy(*condition, one, call.env));
    holds = byte != 0;
  }
  if (holds) return Value();
  std::string text;
  if (call.args.size() > 1) {
    GANTRY_TRY(text, formatted(services, call, 1, ", "));
  }
  return raised_error(services.host, "AssertionError", text.empty() ? "Assertion Failed" : text);
}

// Prints the values of an expression that a kernel traces, as a list. The result is none, which leaves
// the expression its value.
Result<Value> trace_action(const Services& services, const Call& call) {
  std::string text = "[";
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    GANTRY_TRY(const std::string item, value_lines(services.host, call.env, call.args[i]));
    text += (i == 0 ? "" : ", ") + item;
  }
  GANTRY_CHECK(services.output.line(text + "]"));
  return Value();
}

// vm.builtin.debug_print(line, tensor)
Result<Value> debug_print(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::string_view line, call.text(0));
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(1));
  GANTRY_TRY(const Value dims, services.host.shape(shape_of(*tensor)));
  GANTRY_TRY(const std::string shape, value_lines(services.host, call.env, dims.get()));
  GANTRY_TRY(const std::string text, value_lines(services.host, call.env, call.args[1]));
  GANTRY_CHECK(services.output.line(
      concat(line, ": shape = ", shape,
             ", dtype = ", is_bool(tensor->dtype) ? std::string("bool") : dtype_text(tensor->dtype),
             ", data =\n", text)));
  return Value();
}

constexpr FunctionRow run_rows[] = {
    {"relax.run.assert_op", "assert_op(condition[, format, values, ...])", assert_op},
    {"relax.run.nonzero", "nonzero(x)", nonzero},
    {"relax.run.print", "print(format, values, ...)", print},
    {"relax.run.shape_to_tensor", "shape_to_tensor(shape)", shape_to_tensor},
    {"relax.run.unique", "unique(x, sorted, return_index, return_inverse, return_counts[, axis])",
     unique},
    {"tvm.default_trace_action", "default_trace_action(values, ...)", trace_action},
    {"vm.builtin.debug_print", "debug_print(line, tensor)", debug_print},
};

}  // namespace

std::span<const FunctionRow> run_functions() { return run_rows; }

}  // namespace gantry::contrib
