// SPDX-License-Identifier: Apache-2.0
//
// The gantry_host table of one plugin in one runtime, and the data that its functions use.
#pragma once

#include "core/tensor/object.hpp"

#include <gantry/host.h>

#include <string>
#include <utility>
#include <vector>

namespace gantry {

struct RuntimeState;

// The table is the first member, so the `const gantry_host*` that a plugin passes is also the
// address of this struct.
struct PluginHost {
  gantry_host table{};
  // borrowed, outlives the plugin
  RuntimeState* state = nullptr;
  // id, for messages
  std::string plugin;
  // values that config_get returns
  std::vector<std::pair<std::string, OwnedValue>> options;

  static PluginHost& of(const gantry_host* host) {
    return *reinterpret_cast<PluginHost*>(const_cast<gantry_host*>(host));
  }
};

inline RuntimeState& state_of(const gantry_host* host) { return *PluginHost::of(host).state; }

// Fills the table.
//
// abi_minor  [in]  the minor version negotiated with the plugin
void fill_host_table(PluginHost& host, std::uint32_t abi_minor);

}  // namespace gantry
