// SPDX-License-Identifier: Apache-2.0
//
// gantry.relax - the virtual machine of Relax executables, and the functions that they look up.
#pragma once

#include "builtin.hpp"
#include "module.hpp"
#include "tensor_cache_functions.hpp"

#include <gantry/plugin.hpp>

#include <string_view>
#include <variant>
#include <vector>

namespace gantry::relax {

// The plugin in one runtime.
struct Plugin {
  static constexpr PluginIdentity identity{.id = "gantry.relax",
                                           .version = GANTRY_PLUGIN_VERSION,
                                           .vendor = "gantry",
                                           .display_name = "Relax virtual machine",
                                           .license = "Apache-2.0"};
  using Loaders = Types<ExecutableModule>;

  // A function of this runtime.
  struct NamedFunction {
    Plugin* plugin;
    std::variant<const Builtin*, const CacheFunction*> row;

    std::string_view name() const;
    Result<Value> call(const Call& call) const;
  };

  explicit Plugin(Host given);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  // Functions for compiled code and for callers.
  Result<NamedFunction*> find(std::string_view name);
  std::vector<std::string_view> names() const;

  const Host host;

 private:
  TensorCache cache_;
  // by name
  std::vector<NamedFunction> functions_;
};

}  // namespace gantry::relax
