// SPDX-License-Identifier: Apache-2.0
//
// The state of one plugin in one runtime: the host, the options, the devices once somebody asked for them.
#pragma once

#include "device.hpp"

#include <gantry/device.h>
#include <gantry/loader.h>
#include <gantry/disk_cache.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace gantry::vulkan {

constexpr std::int32_t max_devices = 16;

class Plugin {
 public:
  // cache_folder  [in]   empty: no pipeline is kept on disk
  Plugin(Host host, Options options, std::string cache_directory);

  Host host() const { return host_; }
  // NULL where nothing is kept.
  DiskCache* disk() { return disk_.directory().empty() ? nullptr : &disk_; }

  // returns  UNAVAILABLE  no driver starts
  // thread   any; the first starts the drivers, others wait
  Result<std::int32_t> device_count();
  // What is known of a device without starting it.
  //
  // returns  INVALID  index out of range; UNAVAILABLE  there is no device at all
  Result<const Gpu*> gpu(std::int32_t index);
  // Starts the device when it is first asked for.
  Result<Device*> device(std::int32_t index);
  // The device if it has been started, else NULL.
  Device* started(std::int32_t index) const;

 private:
  Result<Instance*> instance();

  Host host_;
  Options options_;
  DiskCache disk_;
  std::mutex mutex_;
  // outlives the devices
  std::unique_ptr<Instance> instance_;
  std::array<std::unique_ptr<Device>, max_devices> owned_;
  std::array<std::atomic<Device*>, max_devices> devices_{};
};

extern const gantry_device_table device_table;
extern const gantry_loader_table loader_table;

}  // namespace gantry::vulkan
