// SPDX-License-Identifier: Apache-2.0
//
// The arguments of one call of a module function, checked on the way out.
#pragma once

#include <gantry/handle.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>

namespace gantry::graph {

// Errors are INVALID and begin with the usage: "set_input(key, tensor): argument 1 is an integer, expected a tensor".
struct Call {
  std::string_view usage;
  const gantry_env* env;
  std::span<const gantry_value> args;

  Status count_is(std::size_t min, std::size_t max) const {
    if (args.size() >= min && args.size() <= max) return {};
    return refuse("argument count is ", args.size());
  }
  Result<gantry_tensor*> tensor(std::size_t i) const {
    if (gantry_tensor* tensor = gantry_value_tensor(&args[i])) return tensor;
    return wrong(i, "a tensor");
  }
  Result<std::int64_t> integer(std::size_t i) const {
    if (const auto number = value_int(args[i])) return *number;
    return wrong(i, "an integer");
  }
  Result<std::string_view> text(std::size_t i) const {
    if (const auto text = value_text(args[i])) return *text;
    return wrong(i, "a string or bytes");
  }
  Error wrong(std::size_t i, std::string_view expected) const {
    return refuse("argument ", i, " is ", kind_text(args[i].kind), ", expected ", expected);
  }
  template <class... Parts>
  Error refuse(const Parts&... parts) const {
    return invalid(usage, ": ", parts...).with_reason("ARGUMENT");
  }
};

}  // namespace gantry::graph
