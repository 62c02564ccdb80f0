// SPDX-License-Identifier: Apache-2.0
//
// Packed functions as objects.
#pragma once

#include "core/module/pin.hpp"
#include "core/tensor/object.hpp"

#include <gantry/module.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <string>

namespace gantry {

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

// For messages: "a function of entry 2 "cuda" of model.so (plugin acme.npu)", "a global function".
std::string described(const FunctionObject& function);

}  // namespace gantry
