// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/global_functions.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <gantry/join.hpp>

namespace gantry {

Status GlobalFunctions::add(std::string name, Ref<FunctionObject> function) {
  const std::lock_guard lock(mutex_);
  const auto taken = std::any_of(functions_.begin(), functions_.end(),
                                 [&](const auto& entry) { return entry.first == name; });
  if (taken) return invalid("global function ", quoted(name), " exists already");
  functions_.emplace_back(std::move(name), std::move(function));
  return {};
}

Ref<FunctionObject> GlobalFunctions::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [known, function] : functions_) {
    if (known == name) return function;
  }
  return {};
}

std::vector<std::string> GlobalFunctions::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [name, function] : functions_) all.push_back(name);
  return all;
}

Result<Ref<FunctionObject>> GlobalFunctions::find_offered(std::string_view name) const {
  return offered_ ? offered_(name) : Ref<FunctionObject>();
}

Result<Ref<FunctionObject>> GlobalFunctions::get(std::string_view name) const {
  Ref<FunctionObject> found = find(name);
  if (!found) {
    GANTRY_TRY(found, find_offered(name));
  }
  if (found) return found;
  return not_found("global function ", quoted(name), " not found, and no plugin offers it; ",
                   "global functions: ", join(names()))
      .with_reason("GLOBAL_MISSING");
}

}  // namespace gantry
