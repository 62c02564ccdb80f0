// SPDX-License-Identifier: Apache-2.0
//
// The functions of a runtime that compiled CPU code calls. A library receives them through
// variables that it defines, `__TVM...`, or as imports, import_binding.hpp.
#pragma once

#include "core/formats/exporter_facts.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace gantry {

// The address of a function as an object pointer, in which form code of the compiler takes it.
template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

struct RuntimeFunction {
  std::string_view name;
  // NULL: this compiler cannot provide the function
  void* address;
  // ffi: of all its releases, unless has_twin; unknown: of all dialects
  Dialect dialect;
  // in which code may expect the address; empty: the function is only imported
  std::string_view variable = {};
  // constructors of libraries call it
  bool is_called_at_load = false;
  // One row is for code of v0.21, another of the same name for that of later releases.
  bool has_twin = false;
  // Only libraries with tvm-ffi's C++ headers import it: ffi/c_api.hpp.
  bool is_of_headers = false;

  // False if the twin is for this code.
  bool fits(const ExporterFacts& facts) const {
    return !has_twin || has_short_objects(dialect) == has_short_objects(facts.dialect);
  }
  bool is_of(const ExporterFacts& facts) const {
    if (dialect == Dialect::unknown) return true;
    return facts.dialect != Dialect::unknown && is_ffi(dialect) == is_ffi(facts.dialect);
  }
};

// source   apache/tvm include/tvm/runtime/c_backend_api.h, src/runtime/library_module.cc;
//          apache/tvm-ffi include/tvm/ffi/c_api.h, include/tvm/ffi/extra/c_env_api.h
std::span<const RuntimeFunction> runtime_functions();

// Those of the C API of tvm-ffi that compiled code does not import, and forms for such libraries of some that
// it does.
std::span<const RuntimeFunction> header_functions();

// Returns NULL if code with these facts cannot import a function of that name.
const RuntimeFunction* find_runtime_function(std::string_view name, const ExporterFacts& facts);

}  // namespace gantry
