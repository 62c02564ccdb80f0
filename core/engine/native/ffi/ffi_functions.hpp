// SPDX-License-Identifier: Apache-2.0
//
// Functions that compiled CPU code of the ffi dialect calls. Each may be called from any thread
// that runs CPU code.
//
// source   apache/tvm-ffi include/tvm/ffi/c_api.h, include/tvm/ffi/extra/c_env_api.h; apache/tvm
//          src/runtime/vm/builtin.cc for the lists
#pragma once

#include <gantry/object.h>
#include <gantry/value.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <string_view>

namespace gantry::ffi {

// TVMFFIFunctionCall: calls a function object.
//
// result   [out]  none on entry; owned by the caller
// returns  -1 after a failure, whose error the thread then holds
int function_call(void* function, const gantry_value* args, std::int32_t count,
                  gantry_value* result);

// Returns an error with an error object, whose kind and text are kept unchanged. Its message is the
// text, escaped.
//
// kind     [in]   "ValueError"
// returns  invalid, reason HOST_CODE, without the object if memory is exhausted
Error raised_error(std::string_view kind, std::string_view text);

// TVMFFIErrorSetRaisedFromCStr: the cause of the failure that the code returns next.
void set_raised(const char* kind, const char* text);
// TVMFFIErrorSetRaisedFromCStrParts: with the concatenation of `count` texts; NULL is omitted.
void set_raised_parts(const char* kind, const char** parts, std::int32_t count);

// TVMFFIHandleInitOnce: sets *slot to the result of init, unless it is set. init runs on one thread
// at a time; one that fails may run again.
//
// returns  -1 if init fails or returns NULL
int handle_init_once(void** slot, int (*init)(void** result));

// TVMFFIEnvGetStream: the stream in which this thread's calls use the device; NULL: the default
// stream.
void* env_get_stream(std::int32_t type, std::int32_t index);

// Lists of values, value_list.hpp:
//
// TVMBackendAnyListSetPackedArg: args[arg] = list[index], borrowed.
int list_set_packed_arg(void* list, int index, gantry_value* args, int arg);
// TVMBackendAnyListMoveFromPackedReturn: moves args[result] to list[index].
//
// returns  -1 for a value without owner, and for an object that is not one of this runtime; the item
//          is unchanged
int list_move_from_packed_return(void* list, int index, gantry_value* args, int result);

// The same functions for code of TVM 0.21, which receives and passes values as ffi_values.hpp
// describes.

// result   [out]  a text by address is valid until the thread's next call
int first_function_call(void* function, const gantry_value* args, std::int32_t count,
                        gantry_value* result);
int first_list_set_packed_arg(void* list, int index, gantry_value* args, int arg);
int first_list_move_from_packed_return(void* list, int index, gantry_value* args, int result);

}  // namespace gantry::ffi
