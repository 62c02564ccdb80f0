// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/stream_order.hpp"

#include "core/base/process_end.hpp"

#include <gantry/abi_boundary.hpp>

namespace gantry {

Status order_streams(const Device& device, const DeviceStream& earlier, const DeviceStream& later) {
  const auto subject = [&] { return concat("ordering streams of ", described(device)); };
  if (!may_call(device)) return process_end_error(subject());
  StatusBuffer status;
  const gantry_device_table& table = *device.table;
  void* event = nullptr;
  gantry_code code = status.call([&](gantry_status* out) {
    return table.event_create(device.self, earlier.index, 0, &event, out);
  });
  if (code == GANTRY_OK) {
    code = status.call([&](gantry_status* out) {
      const gantry_code recorded =
          table.event_record(device.self, earlier.index, event, earlier.handle, out);
      if (recorded != GANTRY_OK) return recorded;
      return table.event_wait(device.self, later.index, event, later.handle, out);
    });
    table.event_destroy(device.self, earlier.index, event);
  }
  if (code == GANTRY_UNSUPPORTED) {
    code = status.call([&](gantry_status* out) {
      return table.synchronize(device.self, earlier.index, earlier.handle, out);
    });
  }
  return code == GANTRY_OK ? Status() : status.error(code, subject());
}

}  // namespace gantry
