// SPDX-License-Identifier: Apache-2.0
//
// A stream and an event of a device of the plugin under test, destroyed with the scope.
#pragma once

#include "tools/conformance/plugin_call.hpp"
#include "tools/conformance/tested_device.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace gantry::kit {

// A stream of device 0; NULL, the default one, if the device has no others.
class DeviceStream {
 public:
  explicit DeviceStream(const Device& device) : device_(device) {
    const PluginCall record("stream_create");
    if (device.table->stream_create(device.self, 0, 0, &handle_, nullptr) != GANTRY_OK)
      handle_ = nullptr;
  }
  explicit DeviceStream(const TestedDevice& device) : DeviceStream(device.device()) {}
  ~DeviceStream() { destroy(); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  void* get() const { return handle_; }
  void destroy() {
    if (handle_ == nullptr) return;
    const PluginCall record("stream_destroy");
    device_.table->stream_destroy(device_.self, 0, std::exchange(handle_, nullptr));
  }

 private:
  const Device& device_;
  void* handle_ = nullptr;
};

// An event of device 0.
class DeviceEvent {
 public:
  // returns  the error of event_create: unsupported if the device has no events
  static Result<std::unique_ptr<DeviceEvent>> make(const TestedDevice& device,
                                                   std::uint32_t flags = 0) {
    std::unique_ptr<DeviceEvent> made(new DeviceEvent(device));
    GANTRY_CHECK(device("event_create", [&](const auto& t, void* s, gantry_status* failure) {
      return t.event_create(s, 0, flags, &made->handle_, failure);
    }));
    return made;
  }
  ~DeviceEvent() {
    if (handle_ == nullptr) return;
    const PluginCall record("event_destroy");
    device_.table().event_destroy(device_.self(), 0, handle_);
  }
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  void* get() const { return handle_; }
  Status record(void* stream) const {
    return device_("event_record", [&](const auto& t, void* s, gantry_status* failure) {
      return t.event_record(s, 0, handle_, stream, failure);
    });
  }
  Status wait_in(void* stream) const {
    return device_("event_wait", [&](const auto& t, void* s, gantry_status* failure) {
      return t.event_wait(s, 0, handle_, stream, failure);
    });
  }
  // The device time since an earlier event, ns.
  Result<std::int64_t> elapsed_since(const DeviceEvent& start) const {
    std::int64_t ns = 0;
    GANTRY_CHECK(device_("event_elapsed", [&](const auto& t, void* s, gantry_status* failure) {
      return t.event_elapsed(s, 0, start.handle_, handle_, &ns, failure);
    }));
    return ns;
  }

 private:
  explicit DeviceEvent(const TestedDevice& device) : device_(device) {}
  const TestedDevice& device_;
  void* handle_ = nullptr;
};

inline bool has_events(const TestedDevice& device) { return DeviceEvent::make(device).ok(); }

}  // namespace gantry::kit
