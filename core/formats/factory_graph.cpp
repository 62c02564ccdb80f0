// SPDX-License-Identifier: Apache-2.0
#include "core/formats/factory_graph.hpp"

#include <gantry/byte_reader.hpp>

#include <cstdint>

namespace gantry {

std::set<std::string_view> FactoryGraph::parameters() const {
  std::set<std::string_view> names;
  for (const NamedArray& each : list.arrays) names.insert(each.name);
  return names;
}

Result<FactoryGraph> read_factory_graph(const Entry& entry) {
  ByteReader in(entry.payload, entry.at);
  FactoryGraph payload;
  GANTRY_TRY(payload.list, read_array_names(in, *array_list_form(entry.type_key)));
  // After its length.
  GANTRY_TRY(payload.graph,
             read_graph_json(payload.list.graph_json, entry.at + sizeof(std::uint64_t)));
  return payload;
}

}  // namespace gantry
