// SPDX-License-Identifier: Apache-2.0
//
// Element types as texts by tvm-ffi's rules, which are not those of <gantry/dtype_text.hpp>: "bool" has a
// byte, a text may lack the width, and short forms exist.
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <string>
#include <string_view>

namespace gantry::ffi {

// returns  invalid: "unknown dtype `x`"
Result<gantry_dtype> dtype_of_name(std::string_view name);
// returns  invalid: a code without a name
Result<std::string> name_of_dtype(gantry_dtype dtype);

}  // namespace gantry::ffi
