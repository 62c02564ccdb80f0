// SPDX-License-Identifier: Apache-2.0
//
// Calls between the ABI and compiled CPU code of the packed dialect, in both directions.
//
//     gantry::call ─▶ host_function_table ─▶ packed function of the artifact
//                                                  │ TVMFuncCall
//                                                  ▼
//                                            call_from_cpu_code ─▶ gantry::call ─▶ a plugin's function
//
//     gantry_value        to CPU code, code          from CPU code, code
//     int, bool           0                           0, 1 int; 15 bool
//     float               2                           2
//     pointer, none       3, 4                        3, 4
//     dtype, device       5, 6                        5, 6
//     tensor (7 or 70)    7 as DLTensor*              7 as argument; as result rejected
//     string, bytes       11, 12                      11, 12, copied
//     module, function    9, 10: the object, borrowed 9, 10, retained
//     everything else     rejected with its name      rejected with its number
//
// Code of a virtual machine passes objects that it has received from this runtime, as results of
// TVMFuncCall and items of lists, packed_lists.hpp:
//
//     tensor              13: DLTensor* in the object
//     module, function    9, 10
//     other objects       8
//
// Device numbers are translated between the artifact's and the runtime's.
#pragma once

#include "core/engine/native/context.hpp"
#include "core/engine/native/cpu_function.hpp"

#include <gantry/function.h>

#include <string>

namespace gantry {

// A packed function of an artifact.
using CpuFunction = CpuFunctionOf<PackedCall>;

// The table whose `self` is a CpuFunction. A failure has the error text of the artifact, or of a
// function that it called, and a line with the name of the function.
const gantry_function_table* host_function_table();

// The entry for callers that lay out arguments themselves: FunctionObject::packed. The device
// numbers in tensors are the runtime's.
//
// self           [in]   a CpuFunction
// values, codes  [in]   numbers, pointers and tensors: `count` PackedValues and type codes
gantry_code call_packed(void* self, const gantry_env* env, void* values, int* codes,
                        std::int32_t count, gantry_value* result, gantry_status* status);

// Returns the function behind a function object, or NULL if it is not CPU code of this dialect. A call
// of it is not recorded.
const CpuFunction* host_function(const FunctionObject& function);

// Converts a list of numbers, pointers and tensors, which are passed as their 8 bytes, for a module
// whose device numbers are not translated. Nearly every call has only such arguments.
//
// values, codes  [out]  `count` elements each
// returns  false if an argument is of another kind or invalid
bool to_plain_packed(const gantry_value* args, std::int32_t count, PackedValue* values, int* codes);

// True for a result that needs no conversion to be discarded: null, a number or a pointer.
inline bool is_plain_packed(int result_code) {
  return static_cast<unsigned>(result_code) <= kPackedNull;
}

// Converts what the code of a function returned: a failure, or any result.
//
// returned       [in]   0, or another value after a failure
// result         [out]  owned by the caller
gantry_code finish_packed_call(const CpuFunction& function, int returned, PackedValue value,
                               int result_code, gantry_value* result, gantry_status* status);

// TVMFuncCall. Returned texts and objects are valid until the thread's next call, at
// most until its outermost call of CPU code has returned.
//
// function  [in]   a FunctionObject, from get_function_from_context() or an argument
int call_from_cpu_code(void* function, PackedValue* args, int* codes, int count,
                       PackedValue* result, int* result_code);

}  // namespace gantry
