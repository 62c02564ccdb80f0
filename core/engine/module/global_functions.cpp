// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/global_functions.hpp"

#include <gantry/quoted.hpp>

#include <gantry/join.hpp>

namespace gantry {
namespace {

// Adds both or, if memory is exhausted, none.
template <class Functions, class Index>
void append(Functions& functions, Index& by_name, std::string name, Ref<FunctionObject> function) {
  functions.emplace_back(name, std::move(function));
  try {
    by_name.emplace(std::move(name), functions.size() - 1);
  } catch (...) {
    functions.pop_back();
    throw;
  }
}

}  // namespace

Status GlobalFunctions::add(std::string name, Ref<FunctionObject> function) {
  const std::lock_guard lock(mutex_);
  if (by_name_.contains(name)) return invalid("global function ", quoted(name), " exists already");
  append(functions_, by_name_, std::move(name), std::move(function));
  return {};
}

void GlobalFunctions::set(std::string name, Ref<FunctionObject> function) {
  const std::lock_guard lock(mutex_);
  const auto known = by_name_.find(name);
  if (known == by_name_.end())
    return append(functions_, by_name_, std::move(name), std::move(function));
  Ref<FunctionObject>& current = functions_[known->second].second;
  replaced_.push_back(current);
  current = std::move(function);
}

bool GlobalFunctions::remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto known = by_name_.find(std::string(name));
  if (known == by_name_.end()) return false;
  const std::size_t at = known->second;
  replaced_.push_back(functions_[at].second);
  by_name_.erase(known);
  functions_.erase(functions_.begin() + static_cast<std::ptrdiff_t>(at));
  for (auto& [other, index] : by_name_) {
    if (index > at) --index;
  }
  return true;
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
