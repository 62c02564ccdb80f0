// SPDX-License-Identifier: Apache-2.0
//
// The memory of a graph, by the storage ids of its entries.
//
//     entries  x: id 0, 256   p0: id 1, 16384   dense: id 2, 64   relu: id 2, 128
//     map      {0, 256, "x"}  {1, 16384, "p0"}  {2, 128}
#pragma once

#include "core/formats/graph_json.hpp"
#include "core/formats/mlf/metadata.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gantry {

// Returns one record for each storage id, ascending: its size is that of its largest entry. Entries
// that share no memory (id -1) have none.
std::vector<MlfStorage> storage_of(const Graph& graph);

// Returns the memory of a graph executor on each device, ascending. The workspace is the storage that
// holds neither an input nor a parameter; what functions allocate while they run is not part of it.
//
// parameters  [in]  names of the inputs that are parameters
std::vector<MlfMain> main_memory_of(const Graph& graph, const std::set<std::string>& parameters);

// Returns on each device the least memory of a graph executor between its functions, without inputs,
// parameters and outputs: the largest other entry of each storage.
std::map<std::int64_t, std::uint64_t> inner_memory_of(const Graph& graph);

}  // namespace gantry
