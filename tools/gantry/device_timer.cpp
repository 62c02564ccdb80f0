// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/device_timer.hpp"

#include <gantry/abi_boundary.hpp>

#include <utility>

namespace gantry::cli {
namespace {

// Calls a function of the device's table.
template <class Call>
Status call_table(std::string_view name, Call call) {
  StatusBuffer status;
  const gantry_code code = status.call(call);
  if (code != GANTRY_OK) return status.error(code, name);
  return {};
}

}  // namespace

Result<std::optional<DeviceTimer>> DeviceTimer::create(const gantry_device& device) {
  DeviceTimer timer(device);
  for (void*& event : timer.events_) {
    const Status made = call_table("event_create", [&](gantry_status* status) {
      return device.table->event_create(device.self, device.id.index, 0, &event, status);
    });
    if (!made.ok() && made.error().code == Code::unsupported) return std::optional<DeviceTimer>();
    GANTRY_CHECK(made);
  }
  return std::optional<DeviceTimer>(std::move(timer));
}

DeviceTimer::DeviceTimer(DeviceTimer&& other) noexcept
    : device_(other.device_), events_(std::exchange(other.events_, {})) {}

DeviceTimer::~DeviceTimer() {
  for (void* const event : events_) {
    if (event != nullptr) device_.table->event_destroy(device_.self, device_.id.index, event);
  }
}

Status DeviceTimer::record(void* event) {
  return call_table("event_record", [&](gantry_status* status) {
    return device_.table->event_record(device_.self, device_.id.index, event, nullptr, status);
  });
}

Result<std::int64_t> DeviceTimer::elapsed() const {
  std::int64_t ns = 0;
  GANTRY_CHECK(call_table("event_elapsed", [&](gantry_status* status) {
    return device_.table->event_elapsed(device_.self, device_.id.index, events_[0], events_[1], &ns,
                                        status);
  }));
  return ns;
}

}  // namespace gantry::cli
