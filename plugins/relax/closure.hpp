// SPDX-License-Identifier: Apache-2.0
//
// Functions with further arguments, which follow those of a call.
#pragma once

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gantry::relax {

struct Closure {
  static constexpr const char* type_name = "relax.vm.Closure";

  // of the executable
  std::uint32_t function;
  // another function, if it is not one of the executable
  Value other;
  std::vector<Value> captured;
};

// Creates a closure.
//
// function [in]   a function object, or a closure, whose own arguments come first
// captured [in]   retained; tensors by reference are copied in the stream of `env`
Result<Value> make_closure(const Host& host, const gantry_value& function,
                           std::span<const gantry_value> captured, const gantry_env* env);

}  // namespace gantry::relax
