// SPDX-License-Identifier: Apache-2.0
//
// Calls from the ABI to compiled CPU code of the ffi dialect: functions `__tvm_ffi_<name>`.
#pragma once

#include "core/engine/native/context.hpp"
#include "core/engine/native/cpu_function.hpp"

#include <gantry/function.h>

#include <string>

namespace gantry::ffi {

// self     NULL
// result   none on entry
// returns  0, or another value after a failure
using CpuCode = int (*)(void* self, const gantry_value* args, std::int32_t count,
                        gantry_value* result);

// A function of an artifact.
using CpuFunction = CpuFunctionOf<CpuCode>;

// The table for functions of a node, whose `self` is a CpuFunction. A failure has the error text of
// the artifact, or of a function that it called, and a line with the name of the function.
const gantry_function_table* host_function_table(const ModuleNode& node);

// The same for functions of libraries with tvm-ffi's C++ headers, by library_values.hpp.
const gantry_function_table* header_function_table();

}  // namespace gantry::ffi
