// SPDX-License-Identifier: Apache-2.0
//
// Calls from the ABI to compiled host code of the ffi dialect: functions `__tvm_ffi_<name>`.
#pragma once

#include "core/native/context.hpp"

#include <gantry/function.h>

#include <string>

namespace gantry::ffi {

// self     NULL
// result   none on entry
// returns  0, or another value after a failure
using HostCode = int (*)(void* self, const gantry_value* args, std::int32_t count,
                         gantry_value* result);

// The names of such functions begin with it.
constexpr std::string_view symbol_prefix = "__tvm_ffi_";

// A function of an artifact: the `self` of host_function_table(), created with new.
struct HostFunction {
  HostCode code;
  const HostServices* services;
  // borrowed: the caller keeps the module
  const ModuleNode* node;
  std::string name;
};

// The table whose `self` is a HostFunction. A failure has the error text of the artifact, or of a
// function that it called, and a line with the name of the function.
const gantry_function_table* host_function_table();

}  // namespace gantry::ffi
