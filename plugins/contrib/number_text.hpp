// SPDX-License-Identifier: Apache-2.0
//
// Texts of values as Python prints them, and of tensors as NumPy does.
#pragma once

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <string>

namespace gantry::contrib {

// Returns repr() of a float: "0.5", "2.0000000233721948e-07".
std::string float_text(double number);

// Returns str() of an array with the elements of a compact tensor on the CPU: 8 digits, aligned columns,
// lines of 75 characters, and of more than 1000 elements those at both ends of each axis.
//
// returns  INVALID  NumPy has no elements of this type, or no arrays of so many dimensions
Result<std::string> tensor_lines(const gantry_tensor& tensor);

// Returns a value as relax.run.print shows it: a tensor as above, "(2, 4)" for a shape, items of an
// array in parentheses.
//
// env      [in]   of the call, for tensors on other devices
Result<std::string> value_lines(const Host& host, const gantry_env* env, const gantry_value& value);

}  // namespace gantry::contrib
