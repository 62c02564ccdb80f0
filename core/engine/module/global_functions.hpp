// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/module/function.hpp"

#include <gantry/result.hpp>

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gantry {

// The functions of a runtime that belong to no module: __tvm_set_device, functions that the
// embedder adds, and functions that plugins provide.
//
// thread   any
class GlobalFunctions {
 public:
  // Looks up a function of a plugin. NULL with OK: there is none.
  using Offered = std::function<Result<Ref<FunctionObject>>(std::string_view name)>;

  GlobalFunctions() = default;
  explicit GlobalFunctions(Offered offered) : offered_(std::move(offered)) {}

  // returns  invalid if the name is in use
  Status add(std::string name, Ref<FunctionObject> function);
  // Adds a function, or replaces the one of that name.
  void set(std::string name, Ref<FunctionObject> function);
  // Removes a function, which stays alive: compiled code may have looked it up.
  //
  // returns  false if no function of that name was added
  bool remove(std::string_view name);
  // Returns NULL if no function of that name was added.
  Ref<FunctionObject> find(std::string_view name) const;
  // Returns the names that were added, in that order.
  std::vector<std::string> names() const;
  // Returns a function of a plugin, a new object for each look-up: it keeps the runtime alive, so
  // the runtime must not keep it.
  //
  // returns  NULL if no plugin provides it; the error of a plugin that provides it and fails
  // costs    may open plugins
  Result<Ref<FunctionObject>> find_offered(std::string_view name) const;
  // Returns a function that was added, else one of a plugin.
  //
  // returns  not_found, reason GLOBAL_MISSING: lists those that were added; as find_offered()
  Result<Ref<FunctionObject>> get(std::string_view name) const;

 private:
  const Offered offered_;
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, Ref<FunctionObject>>> functions_;
  // index of functions_
  std::unordered_map<std::string, std::size_t> by_name_;
  // Compiled code has looked them up and does not retain them.
  std::vector<Ref<FunctionObject>> replaced_;
};

}  // namespace gantry
