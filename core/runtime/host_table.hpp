// SPDX-License-Identifier: Apache-2.0
//
// What one plugin of one runtime is lent: the gantry_host table, and what stands behind it.
#pragma once

#include "core/tensor/object.hpp"

#include <gantry/host.h>

#include <string>
#include <utility>
#include <vector>

namespace gantry {

struct RuntimeState;

// The table comes first: a `const gantry_host*` that a plugin hands back is this.
struct PluginHost {
  gantry_host table{};
  // outlives the plugin
  RuntimeState* state = nullptr;
  // id, for messages
  std::string plugin;
  // config_get's answers, typed
  std::vector<std::pair<std::string, OwnedValue>> options;

  static PluginHost& of(const gantry_host* host) {
    return *reinterpret_cast<PluginHost*>(const_cast<gantry_host*>(host));
  }
};

// Fills the table.
//
// abi_minor  what was negotiated with the plugin
void fill_host_table(PluginHost& host, std::uint32_t abi_minor);

}  // namespace gantry
