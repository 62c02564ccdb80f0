// SPDX-License-Identifier: Apache-2.0
//
// Packed functions as objects.
#pragma once

#include "core/base/pin.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/call.h>
#include <gantry/module.h>
#include <gantry/result.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gantry {

class TraceRecorder;
struct ModuleNode;

// GANTRY_FUNCTION. The function cell of tvm-ffi directly follows the header, so that code of the
// `ffi` dialect can call it. That code calls cpp_call whenever it is not NULL, so packed CPU code
// has a member of its own.
//
// The members up to process_phase are compiled into programs (gantry_function_cell of gantry/call.h).
struct FunctionObject {
  gantry_object header;
  // for libraries with tvm-ffi's C++ headers: safe_call_of_functions
  void* safe_call = nullptr;
  void* cpp_call = nullptr;
  // owned
  gantry_function target{};
  // for packed CPU code, whose `self` is that of target; else NULL
  gantry_packed_entry packed = nullptr;
  // of a call without one: device 0 of the function's device type, default stream, no task
  gantry_env env{};
  const std::atomic<std::uint8_t>* process_phase = nullptr;
  // device type on which it runs (the loader's `device`); 0: the host, env is passed unchanged
  std::int32_t device_type = 0;
  // NULL for globals
  Ref<ModuleNode> parent;
  // keeps the code of a global alive; empty for functions of a module
  Pin pin;
};

// Creates a function object that owns `target` and keeps `parent` alive. After a failure the caller
// still owns `target`.
//
// returns  bug, reason TABLE_INCOMPLETE: a table without `call`; exhausted
Result<Ref<FunctionObject>> new_function(const gantry_function& target, Ref<ModuleNode> parent,
                                         std::int32_t device_type, Pin pin = {});

// A library with tvm-ffi's C++ headers calls the function object `self`.
//
// returns  -1 after a failure, whose error the thread then holds
using SafeCall = int (*)(void* self, const gantry_value* args, std::int32_t count,
                         gantry_value* result);
// FunctionObject::safe_call of all functions. core/engine/native/ffi sets it before main(); NULL in a
// program without that code, which opens no library.
extern SafeCall safe_call_of_functions;

// True for an object of new_function(): a library of tvm-ffi's C++ headers creates objects of the same
// kind.
bool is_own_function(const gantry_object& object);

// Destroys a function that no object owns.
void destroy_target(const gantry_function& target);

// Converts the result of a look-up to an object: if `target` has no table, it is an existing
// object; otherwise a new one is created. After a failure `target` is released.
//
// subject  [in]   returns the name of the look-up for messages: "get_function of entry 2 ..."
// name     [in]   name of the function's spans, if calls are traced
// trace    [in]   NULL: calls are not traced
// returns  bug, reason RESULT_KIND: an object that is not a function; as new_function()
Result<Ref<FunctionObject>> adopt_function(const gantry_function& target,
                                           const std::function<std::string()>& subject,
                                           std::string_view name, Ref<ModuleNode> parent,
                                           std::int32_t device_type, TraceRecorder* trace,
                                           Pin pin = {});

// Returns what the object calls, without the recording of spans.
const gantry_function& unrecorded(const FunctionObject& function);

// For messages: "a function of entry 2 "cuda" of model.so (plugin acme.npu)", "a global function".
std::string described(const FunctionObject& function);

}  // namespace gantry
