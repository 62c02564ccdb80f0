// SPDX-License-Identifier: Apache-2.0
//
// Converts values of call scripts to values of calls and back, and compares both.
#pragma once

#include "tools/gantry/common/call_script.hpp"
#include "tools/gantry/common/compare.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <string>
#include <vector>

namespace gantry::cli {

// Creates a tensor with the bytes of an array, and with explicit strides, because compiled code
// checks tensors without strides in another order.
Result<Tensor> tensor_of(const Runtime& runtime, const ScriptArray& array, gantry_dtype dtype,
                         const std::string& device);

// Compares a value with an expected one. Floating-point numbers are compared with the tolerance, all
// others exactly.
//
// expected [in]   a result
// name     [in]   of the value, for messages: "result"
// returns  one text for each difference; the error of a device
Result<std::vector<std::string>> differences(const Runtime& runtime, const Any& found,
                                             const ScriptValue& expected, const CallScript& script,
                                             Tolerance tolerance, const std::string& name);

// Converts a value to that of a script, and adds its tensors to the arrays of the script. Values
// that scripts do not have become `any`.
//
// key      [in]   of a tensor; tensors in a tuple append "_<index>"
Result<ScriptValue> recorded(const Runtime& runtime, const Any& value, const std::string& key,
                             CallScript& script);

// One line: `3`, `"text"`, `float32[2]  0.5 1`, `(1, none)`, `an object`.
Result<std::string> value_line(const Runtime& runtime, const Any& value);

}  // namespace gantry::cli
