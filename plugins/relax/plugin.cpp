// SPDX-License-Identifier: Apache-2.0
#include "plugin.hpp"

#include <algorithm>

namespace gantry::relax {

std::string_view Plugin::NamedFunction::name() const {
  return std::visit([](const auto* known) { return known->name; }, row);
}

Result<Value> Plugin::NamedFunction::call(const Call& call) const {
  if (const auto* const builtin = std::get_if<const Builtin*>(&row))
    return (*builtin)->call(plugin->host, plugin->memory, call.env, call.args);
  if (const auto* const named = std::get_if<const NamedCallFunction*>(&row))
    return (*named)->run(plugin->called_by_name_, {(*named)->usage, call.env, call.args});
  const CacheFunction& function = *std::get<const CacheFunction*>(row);
  return function.run(plugin->cache_, {function.usage, call.env, call.args});
}

Result<std::unique_ptr<Plugin>> Plugin::create(Host host) {
  GANTRY_TRY(const std::uint64_t limit, memory_limit_of(host));
  return std::make_unique<Plugin>(host, limit);
}

Plugin::Plugin(Host given, std::uint64_t memory_limit)
    : host(given),
      memory(std::make_shared<StorageMemory>(GANTRY_PLUGIN_ID, memory_limit)),
      cache_(given),
      called_by_name_(given) {
  for (const Builtin* builtin : builtins()) functions_.push_back({this, builtin});
  for (const CacheFunction& function : cache_functions()) functions_.push_back({this, &function});
  for (const NamedCallFunction& function : named_call_functions())
    functions_.push_back({this, &function});
  std::ranges::sort(functions_, {}, &NamedFunction::name);
}

Result<Plugin::NamedFunction*> Plugin::find(std::string_view name) {
  const auto found = std::ranges::lower_bound(functions_, name, {}, &NamedFunction::name);
  return found != functions_.end() && found->name() == name ? &*found : nullptr;
}

}  // namespace gantry::relax
