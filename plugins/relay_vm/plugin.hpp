// SPDX-License-Identifier: Apache-2.0
//
// gantry.relay-vm - the virtual machine of Relay executables.
#pragma once

#include "module.hpp"

#include <gantry/plugin.hpp>
#include <gantry/storage_memory.hpp>

#include <memory>

namespace gantry::relay {

// The plugin in one runtime.
struct Plugin {
  using Loaders = Types<ExecutableModule>;

  // returns  INVALID  the value of an option is not one of its type (CONFIG)
  static Result<std::unique_ptr<Plugin>> create(Host host) {
    GANTRY_TRY(const std::uint64_t limit, memory_limit_of(host));
    return std::make_unique<Plugin>(host, limit);
  }
  Plugin(Host given, std::uint64_t memory_limit)
      : host(given), memory(std::make_shared<StorageMemory>(GANTRY_PLUGIN_ID, memory_limit)) {}

  const Host host;
  // of all executables
  const std::shared_ptr<StorageMemory> memory;
};

}  // namespace gantry::relay
