// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace gantry {

// True for the JSON of a graph.
//
// costs    reads all of it if it begins as JSON
bool is_graph_json(std::span<const std::uint8_t> bytes);

}  // namespace gantry
