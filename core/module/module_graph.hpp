// SPDX-License-Identifier: Apache-2.0
//
// Walks over the import graph, and look-up in the order that compiled code relies on.
#pragma once

#include "core/base/process_end.hpp"
#include "core/module/module.hpp"
#include "core/tensor/device_set.hpp"

#include <gantry/host.h>

#include <cxxabi.h>

#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// Every node reachable from `root`, root first, depth first, imports in order, each once.
// costs    O(modules + edges), no recursion
std::vector<ModuleNode*> reachable(ModuleNode& root);

// Looks a function up: SELF, then IMPORTS (depth first, in import order, the first hit is taken,
// each node is searched once), then GLOBALS, as far as `where` contains them. The search continues
// with the imports of unbound nodes.
//
// where    GANTRY_FIND_* bits, at least one
// name     any bytes
// returns  not_found: names the unbound modules, which might have had the function, and why each is
//          unbound
// thread   any
// source   apache/tvm src/runtime/module.cc
Result<Ref<FunctionObject>> find_function(ModuleNode& module, std::uint32_t where,
                                          std::string_view name);

// The names that the node's own table lists, in its order; empty where it lists none.
Result<std::vector<std::string>> list_functions(ModuleNode& module);

// The env of a call without one: device 0 of the function's own kind, default stream, no task.
inline gantry_env default_env(const FunctionObject& function) {
  return {{function.device_type != 0 ? function.device_type : kCpu, 0}, nullptr, nullptr};
}

// Calls a function. The text of a failure is the callee's alone.
//
// env      [in]   NULL: default_env()
// returns  OK, with *result owned by the caller; else *result is none. A callee that fails and
//          writes a result, or fails without a text, is reported as the callee's bug
// costs    a few ns above the callee
gantry_code call(FunctionObject& function, const gantry_env* env, const gantry_value* args,
                 std::int32_t count, gantry_value* result, gantry_status* status);

namespace detail {
gantry_code ended_badly(FunctionObject& function, gantry_code code, gantry_value* result,
                        gantry_status* status);
// Call it in a catch block.
gantry_code thrown(FunctionObject& function, gantry_value* result, gantry_status* status);
gantry_code refuse_at_end(FunctionObject& function, gantry_status* status);
}  // namespace detail

// The same, where *result is none and *status, if there is one, is as a caller of the ABI prepares
// it.
inline gantry_code call_prepared(FunctionObject& function, const gantry_env& env,
                                 const gantry_value* args, std::int32_t count, gantry_value* result,
                                 gantry_status* status) {
  if (!plugins_may_run() && (!function.parent || !may_call(*function.parent))) [[unlikely]]
    return detail::refuse_at_end(function, status);
  gantry_code code = GANTRY_OK;
  try {
    const gantry_function& target = function.target;
    code = target.table->call(target.self, &env, args, count, result, status);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    // A breach of the ABI, which must not end the process.
    return detail::thrown(function, result, status);
  }
  if (code == GANTRY_OK && is_result(*result)) [[likely]]
    return GANTRY_OK;
  return detail::ended_badly(function, code, result, status);
}

// The same with C++ around it.
Result<OwnedValue> call(FunctionObject& function, const gantry_env* env,
                        std::span<const gantry_value> args);

}  // namespace gantry
