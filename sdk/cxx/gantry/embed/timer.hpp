// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/timer.hpp - how long work takes, on the clock of the device that does it.
#pragma once

#include <gantry/embed/runtime.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace gantry {
inline namespace embed_api {

// thread   one at a time
class DeviceTimer {
 public:
  // stream   [in]   with the work; empty: the default stream of the device
  // returns  nullopt where the device has no events or no clock; NOT_FOUND, UNAVAILABLE: no such device
  static Result<std::optional<DeviceTimer>> create(const Runtime& runtime, gantry_device_id device,
                                                   Stream stream = {}) {
    GANTRY_TRY(const gantry_device table, runtime.device_table(device));
    DeviceTimer timer(runtime, table, std::move(stream));
    for (void*& event : timer.events_) {
      const Status made = embed_detail::checked("event_create", [&](gantry_status* status) {
        return table.table->event_create(table.self, table.id.index, 0, &event, status);
      });
      if (!made.ok() && made.error().code == Code::unsupported) return std::optional<DeviceTimer>();
      GANTRY_CHECK(made);
    }
    // INVALID, because nothing is recorded, where the device has a clock.
    const auto none = timer.elapsed();
    if (!none.ok() && none.error().code == Code::unsupported) return std::optional<DeviceTimer>();
    return std::optional<DeviceTimer>(std::move(timer));
  }
  ~DeviceTimer() {
    for (void* const event : events_) {
      if (event != nullptr) device_.table->event_destroy(device_.self, device_.id.index, event);
    }
  }
  DeviceTimer(DeviceTimer&& other) noexcept
      : runtime_(std::move(other.runtime_)),
        device_(other.device_),
        stream_(std::move(other.stream_)),
        events_(std::exchange(other.events_, {})) {}
  DeviceTimer& operator=(DeviceTimer&&) = delete;

  // Mark the beginning and the end of the work.
  Status start() { return record(events_[0]); }
  Status stop() { return record(events_[1]); }
  // Waits for the end. Nanoseconds.
  Result<std::int64_t> elapsed() const {
    std::int64_t ns = 0;
    GANTRY_CHECK(embed_detail::checked("event_elapsed", [&](gantry_status* status) {
      return device_.table->event_elapsed(device_.self, device_.id.index, events_[0], events_[1],
                                          &ns, status);
    }));
    return ns;
  }

 private:
  DeviceTimer(Runtime runtime, const gantry_device& device, Stream stream)
      : runtime_(std::move(runtime)), device_(device), stream_(std::move(stream)) {}
  Status record(void* event) {
    return embed_detail::checked("event_record", [&](gantry_status* status) {
      return device_.table->event_record(device_.self, device_.id.index, event, stream_.handle(),
                                         status);
    });
  }

  Runtime runtime_;
  gantry_device device_;
  Stream stream_;
  std::array<void*, 2> events_{};
};

}  // namespace embed_api
}  // namespace gantry
