// SPDX-License-Identifier: Apache-2.0
//
// The GPUs of one runtime. The driver is opened by the first call that needs it, and each device's
// primary context is retained by the first use of the device.
//
//     GANTRY_TRY(Device* const device, devices.at(0));
//     GANTRY_TRY(const ContextScope scope, device->enter());
//     GANTRY_CHECK(driver.call(driver.stream_synchronize, device->stream_of(nullptr)));
#pragma once

#include "driver.hpp"
#include "event_pair.hpp"
#include "memory.hpp"
#include "staging.hpp"

#include <gantry/device.h>
#include <gantry/device_loss.hpp>
#include <gantry/device_spans.hpp>
#include <gantry/handle.hpp>
#include <gantry/kernel_args.hpp>
#include <gantry/notices.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace gantry::cuda {

class Devices;

// Properties of a device, read from the driver without a context.
Result<int> number_of(const Driver& driver, CUdevice device, CUdevice_attribute attribute);
Result<std::string> name_of(const Driver& driver, CUdevice device);
Result<Architecture> architecture_of(const Driver& driver, CUdevice device);

class Device {
 public:
  // returns  the driver's error; nothing is held after it
  static Result<std::unique_ptr<Device>> open(const Driver& driver, Host host, int index);
  ~Device();

  Result<ContextScope> enter() const { return ContextScope::enter(driver, context_); }
  CUstream stream_of(void* stream) const {
    return stream != nullptr ? static_cast<CUstream>(stream) : stream_;
  }
  CUcontext context() const { return context_; }
  int index() const { return index_; }
  Architecture architecture() const { return architecture_; }
  // "device 0 (NVIDIA H200)"
  std::string text() const;

  // See gantry_device_table.copy. The device's context is current.
  //
  // devices  [in]   contain the device of the other side of a copy between devices
  Status copy(const gantry_copy& what, void* stream, Devices& devices);

  // See gantry_device_table.free. The device's context is current. The driver waits for this
  // device's work; streams of other devices that have copied from or to this memory are waited for
  // before.
  void free(void* data, Devices& devices);

  // Enqueues work, and keeps it for the trace, if one is recorded. The device's context is current.
  //
  // stream   [in]   of the ABI; NULL: the default one
  // launch   [in]   called once; enqueues the work, and returns a Status
  template <class Launch>
  Status traced(void* stream, std::string_view name, const LaunchExtents& extents,
                const Launch& launch) {
    const std::int64_t begun = spans_.launch_time();
    if (begun < 0) [[likely]]
      return launch();
    std::optional<EventPair> events = EventPair::begin(driver, stream_of(stream));
    GANTRY_CHECK(launch());
    if (events && events->end(driver, stream_of(stream)))
      spans_.launched(stream,
                      {std::string(name),
                       {extents.grid[0], extents.grid[1], extents.grid[2]},
                       {extents.block[0], extents.block[1], extents.block[2]}},
                      begun, std::move(*events));
    return {};
  }
  // Records the work of a stream that has been waited for. The device's context is current.
  void finished(void* stream);
  // The work of a stream that is destroyed is not recorded.
  void forget(void* stream) { spans_.forget(stream); }

  const Driver& driver;
  Memory memory;
  DeviceLoss loss;
  Notices notices;

  // Streams of others, which stream_destroy leaves to them. Each may be imported several times.
  CUstream import_stream(CUstream stream);
  // Returns false if the stream is not imported.
  bool forget_imported(CUstream stream);

 private:
  Device(const Driver& opened, Host host, int index)
      : driver(opened),
        memory(opened, host, index),
        host_(host),
        index_(index),
        staging_(opened),
        spans_(host, concat("cuda:", index)) {}
  Status copy_with_host(const gantry_copy& what, CUstream stream, bool to_host);
  Result<bool> is_staged(const void* host_memory, std::uint64_t size, CUstream stream) const;

  Host host_;
  int index_;
  CUdevice handle_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  Architecture architecture_;
  std::string name_;
  Staging staging_;
  std::mutex imported_mutex_;
  std::multiset<CUstream> imported_;
  DeviceSpans<EventPair> spans_;
  // One bit for each device whose streams may use this device's memory.
  std::atomic<std::uint64_t> copied_by_{0};
};

class Devices {
 public:
  explicit Devices(Host host) : host_(host) {}

  // returns  UNAVAILABLE  see Driver::open; the next call tries again
  // thread   any
  Result<const Driver*> driver();

  // Returns a device, and opens it at the first call.
  //
  // returns  INVALID      index is not below count (DEVICE_INDEX)
  //          UNAVAILABLE  no driver, or no context
  // thread   any
  // costs    about 100 ms for the first call of a device, then one atomic load
  Result<Device*> at(std::int32_t index);

  // Returns the bytes allocated on a device without opening it.
  std::int64_t live_bytes(std::int32_t index) const;

  // Returns the driver's handle of a device without opening it.
  Result<CUdevice> handle(std::int32_t index);

  static constexpr std::int32_t max = 64;

 private:
  Status check_index(const Driver& driver, std::int32_t index) const;

  Host host_;
  std::mutex mutex_;
  std::unique_ptr<Driver> driver_;
  std::atomic<const Driver*> opened_driver_ = nullptr;
  std::array<std::unique_ptr<Device>, max> devices_;
  std::array<std::atomic<Device*>, max> opened_{};
};

// kDLCUDA of DLPack.
constexpr std::int32_t cuda_type = 2;

}  // namespace gantry::cuda
