// SPDX-License-Identifier: Apache-2.0
#include "core/formats/stated_devices.hpp"

#include "core/formats/array_list.hpp"
#include "core/formats/relay_code.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/device_name.hpp>

#include <set>

namespace gantry {

StatedDevices stated_devices(const Graph& graph) {
  if (!graph.devices.empty()) return {graph.devices, true};
  std::set<std::int32_t> used;
  for (const GraphEntry& each : graph.entries) {
    if (each.device_number >= 0) used.insert(static_cast<std::int32_t>(each.device_number));
  }
  return {{used.begin(), used.end()}, false};
}

Result<StatedDevices> read_stated_devices(const Entry& entry) {
  switch (content_of(entry.type_key)) {
    case PayloadContent::graph: {
      ByteReader in(entry.payload, entry.at);
      GANTRY_TRY(const ArrayList list, read_array_names(in, *array_list_form(entry.type_key)));
      // After its length.
      GANTRY_TRY(const Graph graph,
                 read_graph_json(list.graph_json, entry.at + sizeof(std::uint64_t)));
      return stated_devices(graph);
    }
    case PayloadContent::ahead_of_time:
      return StatedDevices{{cpu_device_type}, false};
    case PayloadContent::relay_code: {
      GANTRY_TRY(const RelayCode code, read_relay_payload(entry.payload));
      return StatedDevices{device_types_of(code), false};
    }
    default:
      return StatedDevices{};
  }
}

}  // namespace gantry
