// SPDX-License-Identifier: Apache-2.0
//
// Functions that tvm-ffi's own library registers and its C++ headers, or code written with them, call by name.
//
// source   apache/tvm-ffi src/ffi/function.cc, src/ffi/container.cc; include/tvm/ffi/function.h
#pragma once

#include "core/engine/module/function.hpp"
#include "core/engine/module/global_functions.hpp"

#include <memory>
#include <string_view>

namespace gantry::ffi {

// Returns a new function object; NULL: there is no such function.
//
// globals  [in]   on which the function works
Result<Ref<FunctionObject>> bound_library_function(std::string_view name,
                                                   const std::shared_ptr<GlobalFunctions>& globals);

}  // namespace gantry::ffi
