// SPDX-License-Identifier: Apache-2.0
//
// Traverses the import graph, looks functions up in the order that compiled code relies on, and
// calls them.
#pragma once

#include "core/base/process_end.hpp"
#include "core/engine/module/module.hpp"

#include <gantry/host.h>

#include <cxxabi.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// Returns every node that is reachable from `root` once: root first, depth first, imports in order.
//
// costs    O(modules + edges), no recursion
std::vector<ModuleNode*> reachable(ModuleNode& root);

// Where most look-ups search.
constexpr std::uint32_t own_or_imported = GANTRY_FIND_SELF | GANTRY_FIND_IMPORTS;

// Looks up a function: in SELF, then in IMPORTS (depth first, in import order, each node once),
// then in GLOBALS, as far as `where` contains them. Returns the first match. The imports of unbound
// nodes are searched too.
//
// where    [in]   GANTRY_FIND_* bits, at least one
// name     [in]   any bytes
// returns  not_found: lists the unbound modules, which might have the function, and why each one is
//          unbound
// thread   any
// source   apache/tvm src/runtime/module.cc
Result<Ref<FunctionObject>> find_function(ModuleNode& module, std::uint32_t where,
                                          std::string_view name);

// Like find_function(), but returns NULL if there is no such function. Does not assemble the text of
// that error, which takes longer than the look-up.
Result<Ref<FunctionObject>> find_optional_function(ModuleNode& module, std::uint32_t where,
                                                   std::string_view name);

// Returns the names that the node's own table lists, in its order. Empty if it cannot list them.
Result<std::vector<std::string>> list_functions(ModuleNode& module);

// True if the function may be called. Those of plugins may not be called while the process ends.
inline bool may_call(const FunctionObject& function) {
  return plugins_may_run() || (function.parent && may_call(*function.parent));
}

// Calls a function. The text of an error is that of the callee; nothing is added.
//
// env      [in]   NULL: function.env
// returns  OK, with *result owned by the caller; else *result is none. If the callee fails and
//          writes a result, or fails without a text, the status also reports that
// costs    a few ns more than the callee
gantry_code call(FunctionObject& function, const gantry_env* env, const gantry_value* args,
                 std::int32_t count, gantry_value* result, gantry_status* status);

namespace detail {
gantry_code ended_badly(FunctionObject& function, gantry_code code, gantry_value* result,
                        gantry_status* status);
// Call it in a catch block.
gantry_code thrown(FunctionObject& function, gantry_value* result, gantry_status* status);
gantry_code refuse_at_end(FunctionObject& function, gantry_status* status);
}  // namespace detail

// Like call(). Precondition: *result is none, and *status, if not NULL, is prepared as the ABI
// requires.
inline gantry_code call_prepared(FunctionObject& function, const gantry_env& env,
                                 const gantry_value* args, std::int32_t count, gantry_value* result,
                                 gantry_status* status) {
  if (!plugins_may_run() && !may_call(function)) [[unlikely]]
    return detail::refuse_at_end(function, status);
  gantry_code code = GANTRY_OK;
  try {
    const gantry_function& target = function.target;
    code = target.table->call(target.self, &env, args, count, result, status);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    // The callee violates the ABI. This must not terminate the process.
    return detail::thrown(function, result, status);
  }
  if (code == GANTRY_OK && is_result(*result)) [[likely]]
    return GANTRY_OK;
  return detail::ended_badly(function, code, result, status);
}

// Like call(), with C++ types.
Result<Value> call(FunctionObject& function, const gantry_env* env,
                   std::span<const gantry_value> args);

}  // namespace gantry
