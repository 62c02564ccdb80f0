// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/global_functions.hpp"

#include <gantry/quoted.hpp>

#include <gantry/join.hpp>

namespace gantry {

Status GlobalFunctions::add(std::string name, Ref<FunctionObject> function) {
  const std::lock_guard lock(mutex_);
  if (by_name_.contains(name)) return invalid("global function ", quoted(name), " exists already");
  by_name_.emplace(name, functions_.size());
  functions_.emplace_back(std::move(name), std::move(function));
  return {};
}

void GlobalFunctions::set(std::string name, Ref<FunctionObject> function) {
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = by_name_.emplace(name, functions_.size());
  if (is_new) {
    functions_.emplace_back(std::move(name), std::move(function));
  } else {
    std::swap(functions_[known->second].second, function);
    replaced_.push_back(std::move(function));
  }
}

Ref<FunctionObject> GlobalFunctions::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto known = by_name_.find(std::string(name));
  return known != by_name_.end() ? functions_[known->second].second : Ref<FunctionObject>();
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
