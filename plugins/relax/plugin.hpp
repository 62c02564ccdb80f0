// SPDX-License-Identifier: Apache-2.0
//
// gantry.relax - the virtual machine of Relax executables, and the functions that they look up.
#pragma once

#include "builtin.hpp"
#include "module.hpp"

#include <gantry/plugin.hpp>

#include <string_view>
#include <vector>

namespace gantry::relax {

// A builtin in one runtime.
struct BuiltinFunction {
  const Host* host;
  const Builtin* builtin;
  Result<Value> call(const Call& call) const {
    return builtin->run(*host, {builtin->usage, call.env, call.args});
  }
};

// The plugin in one runtime.
struct Plugin {
  static constexpr PluginIdentity identity{.id = "gantry.relax",
                                           .version = GANTRY_PLUGIN_VERSION,
                                           .vendor = "gantry",
                                           .display_name = "Relax virtual machine",
                                           .license = "Apache-2.0"};
  using Loaders = Types<ExecutableModule>;

  explicit Plugin(Host given);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  // Functions for compiled code and for callers.
  Result<BuiltinFunction*> find(std::string_view name);
  std::vector<std::string_view> names() const;

  const Host host;

 private:
  // by name
  std::vector<BuiltinFunction> functions_;
};

}  // namespace gantry::relax
