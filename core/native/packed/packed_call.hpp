// SPDX-License-Identifier: Apache-2.0
//
// Calls between the ABI and compiled host code of the packed dialect, in both directions.
//
//     gantry::call ─▶ host_function_table ─▶ packed function of the artifact
//                                                  │ TVMFuncCall
//                                                  ▼
//                                            call_from_host ─▶ gantry::call ─▶ a plugin's function
//
//     gantry_value        to host code, code          from host code, code
//     int, bool           0                           0, 1 int; 15 bool
//     float               2                           2
//     pointer, none       3, 4                        3, 4
//     dtype, device       5, 6                        5, 6
//     tensor (7 or 70)    7 as DLTensor*              7, 13 as argument; as result refused
//     string, bytes       11, 12                      11, 12, copied
//     module, function    9, 10: the object, borrowed 9, 10, retained
//     everything else     refused, by name            refused, by number
//
// Device numbers are the artifact's on its side and the runtime's on ours.
#pragma once

#include "core/native/context.hpp"

#include <gantry/function.h>

#include <string>

namespace gantry {

// A packed function of an artifact: the `self` behind host_function_table(), made with new.
struct HostFunction {
  PackedCall code;
  const HostServices* services;
  // borrowed: the caller keeps the module
  const ModuleNode* node;
  std::string name;
};

// Calls it. The text of a failure is the one that the artifact, or a function that it called, has
// left, and a line that names the function.
const gantry_function_table* host_function_table();

// TVMFuncCall. Returned texts, functions and modules live until the thread's next call, at most until its outermost
// call of host code has returned.
//
// function  [in]   a FunctionObject, as get_function_from_context() or an argument gave it
int call_from_host(void* function, PackedValue* args, int* codes, int count, PackedValue* result,
                   int* result_code);

}  // namespace gantry
