// SPDX-License-Identifier: Apache-2.0
//
// From a kernel's SPIR-V to a pipeline of one device, and what is kept on disk of that work.
#pragma once

#include "device.hpp"
#include "payload.hpp"

#include <gantry/disk_cache.hpp>

#include <vector>

namespace gantry::vulkan {

// Compiles a kernel for a device.
//
// cache    [in]   the device's, may be VK_NULL_HANDLE
// returns  UNSUPPORTED  the device lacks what the shader wants: SPIR-V version (SHADER_VERSION), a capability
//                       (SHADER_CAPABILITY), room for threads, buffers or scalars (SHADER_LIMIT)
//          what the driver says
// costs    up to seconds where the cache does not help
Result<std::unique_ptr<Pipeline>> build_pipeline(const Device& device, const Kernel& kernel,
                                                 VkPipelineCache cache);

// Would build_pipeline() be refused as UNSUPPORTED? Compiles nothing.
Status check_kernel(const Gpu& gpu, const Kernel& kernel);

// The compiled kernels of one module on one device, kept between processes: one file for each pair, so that models do not
// push each other out. A file that is damaged, or of another driver, counts as not there.
class PipelineCache {
 public:
  // disk     [in]   borrowed; NULL: nothing is kept
  // module   [in]   a digest of its kernels
  PipelineCache(const Device& device, DiskCache* disk, std::string_view module);
  // saves
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  // VK_NULL_HANDLE where the driver makes none.
  VkPipelineCache handle() const { return cache_; }
  // Bytes that came from the disk; 0: none.
  std::size_t loaded_bytes() const { return loaded_.size(); }
  // Writes what the driver has compiled since it was loaded, where that is anything new.
  void save();

 private:
  const Device& device_;
  DiskCache* disk_;
  std::string key_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::vector<std::uint8_t> loaded_;
};

// Is this what vkGetPipelineCacheData gave for this very driver and device? Drivers have crashed on other bytes.
//
// source   Vulkan specification, VkPipelineCacheHeaderVersionOne
bool is_cache_of(const VkPhysicalDeviceProperties& properties, std::span<const std::uint8_t> bytes);

}  // namespace gantry::vulkan
