// SPDX-License-Identifier: Apache-2.0
#include "plugin.hpp"

#include <algorithm>

namespace gantry::relax {

Plugin::Plugin(Host given) : host(given) {
  for (const Builtin* builtin : builtins()) functions_.push_back({&host, builtin});
}

Result<BuiltinFunction*> Plugin::find(std::string_view name) {
  const auto by_name = [](const BuiltinFunction& function) { return function.builtin->name; };
  const auto found = std::ranges::lower_bound(functions_, name, {}, by_name);
  return found != functions_.end() && by_name(*found) == name ? &*found : nullptr;
}

std::vector<std::string_view> Plugin::names() const {
  std::vector<std::string_view> names;
  for (const BuiltinFunction& function : functions_) names.push_back(function.builtin->name);
  return names;
}

}  // namespace gantry::relax
