// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/stream_order.hpp"

namespace gantry {

Status order_streams(const Device& device, const DeviceStream& earlier, const DeviceStream& later) {
  const gantry_device_table& table = *device.table;
  const auto call = [&](const DeviceStream& of, auto function) {
    return call_table(device, of.index, "ordering streams", function);
  };
  void* event = nullptr;
  Status ordered = call(earlier, [&](gantry_status* out) {
    return table.event_create(device.self, earlier.index, GANTRY_EVENT_UNTIMED, &event, out);
  });
  if (ordered.ok()) {
    ordered = call(earlier, [&](gantry_status* out) {
      return table.event_record(device.self, earlier.index, event, earlier.handle, out);
    });
    if (ordered.ok()) {
      ordered = call(later, [&](gantry_status* out) {
        return table.event_wait(device.self, later.index, event, later.handle, out);
      });
    }
    table.event_destroy(device.self, earlier.index, event);
  }
  if (ordered.ok() || ordered.error().code != Code::unsupported) return ordered;
  return call(earlier, [&](gantry_status* out) {
    return table.synchronize(device.self, earlier.index, earlier.handle, out);
  });
}

}  // namespace gantry
