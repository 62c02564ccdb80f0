// SPDX-License-Identifier: Apache-2.0
#include "core/formats/stated_devices.hpp"

#include "core/formats/factory_graph.hpp"
#include "core/formats/relay_code.hpp"
#include "core/formats/type_key.hpp"

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
      GANTRY_TRY(const FactoryGraph payload, read_factory_graph(entry));
      return stated_devices(payload.graph);
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
