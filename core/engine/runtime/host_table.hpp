// SPDX-License-Identifier: Apache-2.0
//
// The gantry_host table of one plugin in one runtime, or of the program that embeds the runtime, and
// the data that its functions use.
#pragma once

#include "core/engine/tensor/object.hpp"

#include <gantry/host.h>
#include <gantry/result.hpp>

#include <string>
#include <string_view>
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
  // id, for messages; empty: the program
  std::string plugin;
  // values that config_get returns
  std::vector<std::pair<std::string, Value>> options;

  // For messages: "plugin acme.npu", "the program".
  std::string title() const;
  // For lines of the log: "acme.npu", "program".
  std::string_view name() const { return plugin.empty() ? std::string_view("program") : plugin; }

  static PluginHost& of(const gantry_host* host) {
    return *reinterpret_cast<PluginHost*>(const_cast<gantry_host*>(host));
  }
};

// Adds the options that every plugin has: "threads", "cache_directory".
//
// host     [in,out] with its state
Status add_host_options(PluginHost& host);

inline RuntimeState& state_of(const gantry_host* host) { return *PluginHost::of(host).state; }

// Fills the table.
//
// abi_minor  [in]  the minor version negotiated with the plugin
void fill_host_table(PluginHost& host, std::uint32_t abi_minor);

// Functions of the table that do not use its host, which may be NULL: items_get, tensor_view, find,
// call.
const gantry_host& functions_without_host();

}  // namespace gantry
