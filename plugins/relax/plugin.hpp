// SPDX-License-Identifier: Apache-2.0
//
// gantry.relax - the virtual machine of Relax executables, and the functions that they look up.
#pragma once

#include "builtin.hpp"
#include "module.hpp"
#include "named_calls.hpp"
#include "tensor_cache_functions.hpp"

#include <gantry/plugin.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry::relax {

// The plugin in one runtime.
struct Plugin {
  using Loaders = Types<ExecutableModule>;

  // A function of this runtime.
  struct NamedFunction {
    Plugin* plugin;
    std::variant<const Builtin*, const CacheFunction*, const NamedCallFunction*> row;

    std::string_view name() const;
    Result<Value> call(const Call& call) const;
  };

  // returns  INVALID  the value of an option is not one of its type (CONFIG)
  static Result<std::unique_ptr<Plugin>> create(Host host);
  Plugin(Host given, std::uint64_t memory_limit);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  // Functions for compiled code and for callers.
  Result<NamedFunction*> find(std::string_view name);

  const Host host;
  // of all executables
  const std::shared_ptr<StorageMemory> memory;

 private:
  TensorCache cache_;
  CalledByName called_by_name_;
  // by name
  std::vector<NamedFunction> functions_;
};

}  // namespace gantry::relax
