// SPDX-License-Identifier: Apache-2.0
//
// Packed functions as objects.
#pragma once

#include "core/module/pin.hpp"
#include "core/tensor/object.hpp"

#include <gantry/module.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gantry {

class TraceRecorder;
struct ModuleNode;

// GANTRY_FUNCTION. tvm-ffi's function cell stands directly behind the header, so that code of the
// `ffi` dialect can call it.
struct FunctionObject {
  gantry_object header;
  // ffi dialect; NULL where it is not offered
  void* safe_call = nullptr;
  void* cpp_call = nullptr;
  // owned: destroyed once
  gantry_function target{};
  // kind of device it runs on (the loader's `device`); 0: the host, env passes unchanged
  std::int32_t device_type = 0;
  // NULL for globals
  Ref<ModuleNode> parent;
  // what a global's code needs; empty for a module's
  Pin pin;
};

// A function object that owns `target` and keeps `parent`. On failure the caller keeps target.
//
// returns  bug, reason TABLE_INCOMPLETE: a table without `call`; exhausted
Result<Ref<FunctionObject>> new_function(const gantry_function& target, Ref<ModuleNode> parent,
                                         std::int32_t device_type, Pin pin = {});

// The object for the function that a look-up returned: an existing object where `target` has no
// table, else a new one. What `target` holds is released on failure.
//
// subject  [in]   returns the look-up's name for messages: "get_function of entry 2 ..."
// name     [in]   of the function's span, where calls are traced
// trace    [in]   NULL: calls are not traced
// returns  bug, reason RESULT_KIND: an object that is no function; as new_function()
Result<Ref<FunctionObject>> adopt_function(const gantry_function& target,
                                           const std::function<std::string()>& subject,
                                           std::string_view name, Ref<ModuleNode> parent,
                                           std::int32_t device_type, TraceRecorder* trace,
                                           Pin pin = {});

// For messages: "a function of entry 2 "cuda" of model.so (plugin acme.npu)", "a global function".
std::string described(const FunctionObject& function);

}  // namespace gantry
