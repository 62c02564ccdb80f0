// SPDX-License-Identifier: Apache-2.0
//
// gantry/call.hpp - reads the arguments of a call. Errors name the argument.
//
//     // usage "set_input(name, tensor)"
//     Result<Value> set_input(Module& module, const Call& call) {
//       GANTRY_CHECK(call.count_is(2));
//       GANTRY_TRY(const std::string_view name, call.text(0));
//       GANTRY_TRY(const gantry_tensor* const from, call.tensor(1));
//       return module.copy_input(name, *from);
//     }
//
// Errors are INVALID and begin with the usage:
// set_input(name, tensor): argument 1 (tensor) is an integer, expected a tensor
#pragma once

#include <gantry/function.h>
#include <gantry/dtype_text.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_spec.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

namespace detail {
// Returns the i-th name in "f(a, b[, c], ...)" without brackets; empty if there is none.
inline std::string_view argument_name(std::string_view usage, std::size_t i) {
  const std::size_t open = usage.find('(');
  if (open == std::string_view::npos || !usage.ends_with(')')) return {};
  std::string_view names = usage.substr(open + 1, usage.size() - open - 2);
  for (; i != 0; --i) {
    const std::size_t comma = names.find(',');
    if (comma == std::string_view::npos) return {};
    names.remove_prefix(comma + 1);
  }
  names = names.substr(0, names.find(','));
  while (!names.empty() && (names.front() == ' ' || names.front() == '[')) names.remove_prefix(1);
  while (!names.empty() && (names.back() == ' ' || names.back() == '[' || names.back() == ']'))
    names.remove_suffix(1);
  return names == "..." ? std::string_view() : names;
}
}  // namespace detail

// Reading an argument allocates memory for an error only.
struct Call {
  // "set_input(name, tensor)"; empty: errors do not begin with it.
  std::string_view usage;
  // Not NULL in calls by the host.
  const gantry_env* env;
  // Borrowed for the call.
  std::span<const gantry_value> args;

  // returns  INVALID  the number of arguments differs (ARGUMENT_COUNT)
  Status count_is(std::size_t count) const { return count_is(count, count); }
  Status count_is(std::size_t min, std::size_t max) const {
    if (args.size() >= min && args.size() <= max) return {};
    return refuse("argument count is ", args.size(), ", expected ", min,
                  min == max ? std::string() : concat(" to ", max))
        .with_reason("ARGUMENT_COUNT");
  }

  // Each returns argument i.
  //
  // returns  INVALID  the argument is of another kind (ARGUMENT_KIND) or absent (ARGUMENT_COUNT)
  Result<std::int64_t> integer(std::size_t i) const {
    if (const auto number = has(i) ? value_int(args[i]) : std::nullopt) return *number;
    return wrong(i, "an integer");
  }
  // returns  INVALID  also if it does not fit (ARGUMENT)
  Result<std::int32_t> integer32(std::size_t i) const {
    GANTRY_TRY(const std::int64_t number, integer(i));
    if (std::in_range<std::int32_t>(number)) return static_cast<std::int32_t>(number);
    return refuse(title(i), " is ", number, ", expected a number of 32 bits");
  }
  // A number of any kind, of which 0 is false.
  Result<bool> flag(std::size_t i) const {
    GANTRY_TRY(const std::int64_t flag, integer(i));
    return flag != 0;
  }
  // Accepts a float, an integer or a bool.
  Result<double> real(std::size_t i) const {
    if (has(i) && args[i].kind == GANTRY_FLOAT) return args[i].f;
    if (const auto number = has(i) ? value_int(args[i]) : std::nullopt)
      return static_cast<double>(*number);
    return wrong(i, "a float");
  }
  // lifetime as long as the argument
  Result<std::string_view> text(std::size_t i) const {
    if (const auto text = has(i) ? value_text(args[i]) : std::nullopt) return *text;
    return wrong(i, "a string or bytes");
  }
  Result<gantry_device_id> device(std::size_t i) const {
    if (has(i) && args[i].kind == GANTRY_DEVICE) return args[i].device;
    return wrong(i, "a device");
  }
  // Accepts a dtype or its text.
  Result<gantry_dtype> dtype(std::size_t i) const {
    if (has(i) && args[i].kind == GANTRY_DTYPE) return args[i].dtype;
    if (const auto text = has(i) ? value_text(args[i]) : std::nullopt) return parse_dtype(*text);
    return wrong(i, "a dtype");
  }
  // lifetime as long as the argument
  Result<std::span<const std::int64_t>> shape(std::size_t i) const {
    if (const auto dims = has(i) ? value_shape(args[i]) : std::nullopt) return *dims;
    return wrong(i, "a shape");
  }
  // kind     [in]   GANTRY_MODULE, GANTRY_FUNCTION, GANTRY_ARRAY ...
  Result<gantry_object*> object(std::size_t i, std::int32_t kind) const {
    if (has(i) && args[i].kind == kind) return args[i].object;
    return wrong(i, kind_text(kind));
  }
  Result<gantry_tensor*> tensor(std::size_t i) const {
    if (gantry_tensor* const tensor = has(i) ? gantry_value_tensor(&args[i]) : nullptr)
      return tensor;
    return wrong(i, "a tensor");
  }
  // Also compares the tensor with a spec.
  //
  // returns  INVALID  as above, and TensorMatch::failure()
  Result<gantry_tensor*> tensor(std::size_t i, const TensorSpec& expected, Extents& extents) const {
    GANTRY_TRY(gantry_tensor* const found, tensor(i));
    const TensorMatch match(*found, expected, env->device, extents);
    if (match.ok()) return found;
    return match.failure(concat(prefix(), title(i)));
  }
  Result<gantry_tensor*> tensor(std::size_t i, const TensorSpec& expected) const {
    Extents extents;
    return tensor(i, expected, extents);
  }

  // returns  INVALID  reason ARGUMENT_KIND, or ARGUMENT_COUNT if the argument is absent
  Failure wrong(std::size_t i, std::string_view expected) const {
    const std::string found = has(i) ? kind_text(args[i].kind) : "absent";
    return refuse(title(i), " is ", found, ", expected ", expected)
        .with_reason(has(i) ? "ARGUMENT_KIND" : "ARGUMENT_COUNT");
  }
  // returns  INVALID  reason ARGUMENT; the text begins with the usage
  template <class... Parts>
  Failure refuse(const Parts&... parts) const {
    return invalid(prefix(), parts...).with_reason("ARGUMENT");
  }
  // "argument 0 (x)"
  std::string title(std::size_t i) const {
    const std::string_view name = detail::argument_name(usage, i);
    return name.empty() ? concat("argument ", i) : concat("argument ", i, " (", name, ")");
  }

 private:
  bool has(std::size_t i) const { return i < args.size(); }
  std::string prefix() const { return usage.empty() ? std::string() : concat(usage, ": "); }
};

}  // namespace gantry
