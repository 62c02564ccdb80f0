// SPDX-License-Identifier: Apache-2.0
//
// Walks over the import graph, and look-up in the order that compiled code relies on.
#pragma once

#include "core/module/module.hpp"
#include "core/tensor/device_set.hpp"

#include <gantry/host.h>

#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// Every node reachable from `root`, root first, depth first, imports in order, each once.
// costs    O(modules + edges), no recursion
std::vector<ModuleNode*> reachable(ModuleNode& root);

// Looks a function up: SELF, then IMPORTS (depth first, in import order, first hit wins, a node asked once),
// then GLOBALS, as far as `where` has them. Unbound nodes are passed through to their imports.
//
// where    GANTRY_FIND_* bits, at least one
// name     any bytes
// returns  not_found: with the unbound modules that were passed, and why, for nobody knows what they would have had
// thread   any
// source   spec: artifact-format 4.5 (apache/tvm src/runtime/module.cc)
Result<Ref<FunctionObject>> find_function(ModuleNode& module, std::uint32_t where,
                                          std::string_view name);

// Names that a node's own table lists, in its order; empty where it lists none.
Result<std::vector<std::string>> list_functions(ModuleNode& module);

// The env of a call that says nothing: cpu:0, default stream, no task.
inline constexpr gantry_env default_env{{kCpu, 0}, nullptr, nullptr};

// Calls. env NULL: the CPU, default stream. A failure carries the callee's text and nothing of ours.
//
// returns  OK, with *result owned by the caller; else *result is none. A callee that fails but writes a result, or
//          fails without a text, is told of as its defect.
// costs    a few ns above the callee: inline checks only
gantry_code call(FunctionObject& function, const gantry_env* env, const gantry_value* args,
                 std::int32_t count, gantry_value* result, gantry_status* status);

namespace detail {
gantry_code ended_badly(FunctionObject& function, gantry_code code, gantry_value* result,
                        gantry_status* status) noexcept;
gantry_code thrown(FunctionObject& function, gantry_value* result,
                   // in a catch block
                   gantry_status* status) noexcept;
}  // namespace detail

// The same, where *result is none and *status, if there is one, as a caller of the ABI has it.
inline gantry_code call_prepared(FunctionObject& function, const gantry_env& env,
                                 const gantry_value* args, std::int32_t count, gantry_value* result,
                                 gantry_status* status) noexcept {
  gantry_code code = GANTRY_OK;
  try {
    const gantry_function& target = function.target;
    code = target.table->call(target.self, &env, args, count, result, status);
  } catch (...) {
    // a breach of the ABI, which must not end the process
    return detail::thrown(function, result, status);
  }
  if (code == GANTRY_OK && is_owned_kind(result->kind)) [[likely]]
    return GANTRY_OK;
  return detail::ended_badly(function, code, result, status);
}

// The same with C++ around it.
Result<OwnedValue> call(FunctionObject& function, const gantry_env* env,
                        std::span<const gantry_value> args);

}  // namespace gantry
