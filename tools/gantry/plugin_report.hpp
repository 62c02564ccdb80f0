// SPDX-License-Identifier: Apache-2.0
//
// The part of `plugins explain` and `plugins doctor --json` about one plugin: its manifests with their
// drop-ins, and the options that it gets.
#pragma once

#include "core/base/json_writer.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/plugins/choice/explain_plugin.hpp"
#include "core/plugins/manifest/config_values.hpp"

#include <gantry/result.hpp>

#include <string>
#include <vector>

namespace gantry::cli {

// A plugin, and its options or why they cannot be resolved.
struct PluginReport {
  ExplainedPlugin plugin;
  Result<std::vector<ConfigValue>> options = std::vector<ConfigValue>();
  std::vector<Message> warnings;
};

// The set must have been inspected: PluginSet::inspect_all().
//
// returns  the errors of explain_plugin()
Result<PluginReport> examine_plugin(const RuntimeState& runtime, const std::string& id);

std::string abi_text(const ManifestAbi& abi);

// Writes the members id, used, manifests, options and options_error of an object.
void write_plugin(const PluginReport& report, JsonWriter& json);

}  // namespace gantry::cli
