// SPDX-License-Identifier: Apache-2.0
//
// gantry.vulkan - kernels in SPIR-V, and the devices of the installed Vulkan drivers.
#include "plugin.hpp"

#include <algorithm>
#include <utility>

namespace gantry::vulkan {

Result<std::unique_ptr<Plugin>> Plugin::create(Host host) {
  GANTRY_TRY(const Options options, read_options(host));
  std::string directory = options.pipeline_cache ? host.option_text("cache_directory") : "";
  if (!directory.empty()) directory += "/vulkan";
  return std::make_unique<Plugin>(host, options, std::move(directory));
}

Plugin::Plugin(Host host, Options options, std::string cache_directory)
    : host_(host),
      options_(options),
      disk_({.directory = std::move(cache_directory),
             .log = [host](const Message& text) { host.log(GANTRY_LOG_WARNING, text); }}) {}

Result<Instance*> Plugin::instance() {
  const std::lock_guard lock(mutex_);
  if (!instance_) {
    const Host host = host_;
    GANTRY_TRY(instance_,
               Instance::create(options_, [host](std::int32_t level, std::string_view line) {
                 host.log(level, Message::lines(line));
               }));
    for (const std::string& line : instance_->left_out())
      host_.log(GANTRY_LOG_INFO, {"device left out: ", line});
  }
  return instance_.get();
}

Result<std::int32_t> Plugin::device_count() {
  GANTRY_TRY(const Instance* const running, instance());
  return std::min(static_cast<std::int32_t>(running->gpus().size()), max_devices);
}

Result<const Gpu*> Plugin::gpu(std::int32_t index) {
  GANTRY_TRY(const Instance* const running, instance());
  GANTRY_TRY(const std::int32_t count, device_count());
  if (count == 0) {
    Error error = unavailable("no Vulkan device can run kernels").with_reason("DRIVER_MISSING");
    for (const std::string& line : running->left_out()) error.at("left out: ", line);
    return error;
  }
  if (index < 0 || index >= count) return no_such_device("vulkan", index, count);
  return &running->gpus()[static_cast<std::size_t>(index)];
}

Device* Plugin::started(std::int32_t index) const {
  if (index < 0 || index >= max_devices) return nullptr;
  return devices_[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
}

Result<Device*> Plugin::device(std::int32_t index) {
  if (Device* const device = started(index)) return device;
  GANTRY_TRY(const Gpu* const chosen, gpu(index));
  const std::lock_guard lock(mutex_);
  if (Device* const device = started(index)) return device;
  auto& owned = owned_[static_cast<std::size_t>(index)];
  GANTRY_TRY(owned, Device::create(host_, *chosen, index, options_));
  devices_[static_cast<std::size_t>(index)].store(owned.get(), std::memory_order_release);
  return owned.get();
}

}  // namespace gantry::vulkan

GANTRY_PLUGIN(gantry::vulkan::Plugin);
