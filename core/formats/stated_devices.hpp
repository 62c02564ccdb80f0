// SPDX-License-Identifier: Apache-2.0
//
// The devices that models state in their payloads: alternatives of a graph, or all that a graph, a Relay
// executable or code compiled ahead of time uses. Relax executables state none.
#pragma once

#include "core/formats/entry.hpp"
#include "core/formats/graph_json.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <vector>

namespace gantry {

struct StatedDevices {
  // Device types in the artifact's numbering, each once; empty: none is stated.
  std::vector<std::int32_t> numbers;
  // A run uses one of them, by default the first; else it uses all.
  bool are_alternatives = false;
};

StatedDevices stated_devices(const Graph& graph);

// The same for the payload of a module. Empty for a module that is no model.
//
// returns  malformed, unsupported: its payload
// costs    parses the graph, or the code of a virtual machine
Result<StatedDevices> read_stated_devices(const Entry& entry);

}  // namespace gantry
