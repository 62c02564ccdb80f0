// SPDX-License-Identifier: Apache-2.0
//
// The state of the plugin in one runtime: its options and the started devices.
#pragma once

#include "device_functions.hpp"
#include "module.hpp"

#include <gantry/disk_cache.hpp>
#include <gantry/plugin.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace gantry::vulkan {

class Plugin {
 public:
  using Loaders = Types<Module>;
  using Devices = Types<DeviceFunctions>;

  // returns  INVALID  an option's value has the wrong type or is unknown (CONFIG)
  static Result<std::unique_ptr<Plugin>> create(Host host);
  // cache_directory  [in]   empty: no pipeline is stored on disk
  Plugin(Host host, Options options, std::string cache_directory);

  Host host() const { return host_; }
  // NULL: no pipeline is stored on disk.
  DiskCache* disk() { return disk_.directory().empty() ? nullptr : &disk_; }

  // returns  UNAVAILABLE  no driver starts
  // thread   any; the first call starts the drivers, others wait
  Result<std::int32_t> device_count();
  // Returns a device's properties without starting it.
  //
  // returns  INVALID      no such device (DEVICE_INDEX)
  //          UNAVAILABLE  no device can run kernels (DRIVER_MISSING)
  Result<const Gpu*> gpu(std::int32_t index);
  // Returns a device; the first call starts it.
  Result<Device*> device(std::int32_t index);
  // NULL: the device is not started.
  Device* started(std::int32_t index) const;

 private:
  Result<Instance*> instance();

  Host host_;
  Options options_;
  DiskCache disk_;
  std::mutex mutex_;
  // Destroyed after the devices.
  std::unique_ptr<Instance> instance_;
  std::array<std::unique_ptr<Device>, max_devices> owned_;
  std::array<std::atomic<Device*>, max_devices> devices_{};
};

}  // namespace gantry::vulkan
