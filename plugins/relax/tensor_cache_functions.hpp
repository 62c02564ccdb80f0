// SPDX-License-Identifier: Apache-2.0
//
// Functions of the runtime that use its tensor cache.
#pragma once

#include "tensor_cache.hpp"

#include <gantry/call.hpp>

#include <span>
#include <string_view>

namespace gantry::relax {

// A row as Builtin is, for functions with a state.
struct CacheFunction {
  // "vm.builtin.tensor_cache.get"
  std::string_view name;
  // "get(name)"
  std::string_view usage;
  Result<Value> (*run)(TensorCache& cache, const Call& call);
};

// source   apache/tvm src/runtime/vm/tensor_cache_support.cc
std::span<const CacheFunction> cache_functions();

}  // namespace gantry::relax
