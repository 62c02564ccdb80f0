// SPDX-License-Identifier: Apache-2.0
//
// Compiles kernels into pipelines of a device, and stores the driver's pipeline caches on disk.
#pragma once

#include "device.hpp"
#include "payload.hpp"

#include <gantry/disk_cache.hpp>

#include <vector>

namespace gantry::vulkan {

// Compiles a kernel for a device.
//
// cache    [in]   a cache of the device; VK_NULL_HANDLE: none
// returns  UNSUPPORTED  the device lacks the shader's SPIR-V version (SHADER_VERSION) or a
//                       capability (SHADER_CAPABILITY); threads, buffers or scalars exceed its
//                       limits (SHADER_LIMIT)
//          others       see driver_error()
// costs    up to seconds unless the cache contains the kernel
Result<std::unique_ptr<Pipeline>> build_pipeline(const Device& device, const Kernel& kernel,
                                                 VkPipelineCache cache);

// Returns the UNSUPPORTED errors of build_pipeline() without compiling.
Status check_kernel(const Gpu& gpu, const Kernel& kernel);

// The compiled kernels of one module on one device, stored in one file per pair, so that modules do
// not evict each other. A file that is damaged or from another driver is ignored.
class PipelineCache {
 public:
  // disk     [in]   borrowed; NULL: nothing is stored
  // module   [in]   a digest of the module's payload
  PipelineCache(const Device& device, DiskCache* disk, std::string_view module);
  // Calls save().
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  // VK_NULL_HANDLE: the driver could not create a cache.
  VkPipelineCache handle() const { return cache_; }
  // Bytes loaded from disk; 0: none.
  std::size_t loaded_bytes() const { return loaded_.size(); }
  // Stores the driver's cache if it has changed since it was loaded or stored.
  void save();

 private:
  const Device& device_;
  DiskCache* disk_;
  std::string key_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::vector<std::uint8_t> loaded_;
};

// True if the bytes begin with a pipeline cache header of this driver and device. Drivers have
// crashed on other bytes.
//
// source   Vulkan specification, VkPipelineCacheHeaderVersionOne
bool is_cache_of(const VkPhysicalDeviceProperties& properties, std::span<const std::uint8_t> bytes);

}  // namespace gantry::vulkan
