// SPDX-License-Identifier: Apache-2.0
//
// The process's Vulkan instance, and the devices that a runtime finds with it.
//
//     Instance::create(options, log)     starts loader and drivers, reads every device's properties
//     gpus()                             the devices that can run kernels, real GPUs first
//
// The instance is created when a device is first used: a process that only loads payloads starts no
// driver. All runtimes share it, except those with option `validation`: each has an instance of its
// own, because the layer's messages are in the log of the runtime that caused them.
#pragma once

#include "options.hpp"

#include <gantry/result.hpp>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <vulkan/vulkan.h>

namespace gantry::vulkan {

// Returns the error of a failed driver call: "vkAllocateMemory returns
// VK_ERROR_OUT_OF_DEVICE_MEMORY (-2)".
//
// returns  EXHAUSTED    out of memory, pool space or objects (DRIVER_CALL)
//          INVALID      a descriptor that the driver does not know (DRIVER_CALL)
//          UNAVAILABLE  other results (DRIVER_CALL)
Error driver_error(VkResult result, std::string_view call);

// returns  driver_error() of a result other than VK_SUCCESS
inline Status checked(VkResult result, std::string_view call) {
  if (result == VK_SUCCESS) return {};
  return driver_error(result, call);
}

// Of the buffers that kernels use.
constexpr VkBufferUsageFlags data_usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                          VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

// Properties of a device, read before the device is started.
struct Gpu {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceMemoryProperties memory{};
  // The driver's name and version, as the driver reports them.
  std::string driver;
  // Of GANTRY_ATTRIBUTE_UUID and GANTRY_ATTRIBUTE_PCI_ADDRESS. Empty: none.
  std::string uuid, pci_address;
  std::uint64_t max_allocation_bytes = 0;
  std::uint32_t subgroup_size = 1;
  std::uint32_t queue_family = 0;
  // 0: the queue has no clock.
  std::uint32_t timestamp_bits = 0;
  // 0: VK_KHR_push_descriptor is not supported.
  std::uint32_t max_push_descriptors = 0;
  bool has_memory_budget = false;
  // Of address and size of host memory that the device imports; 0: VK_EXT_external_memory_host is not
  // supported.
  std::uint64_t host_memory_alignment = 0;
  // Descriptors that the device imports as buffers: of VK_KHR_external_memory_fd and
  // VK_EXT_external_memory_dma_buf.
  VkExternalMemoryHandleTypeFlags descriptor_kinds = 0;
  // VK_EXT_queue_family_foreign.
  bool has_foreign_queues = false;
  // VK_EXT_calibrated_timestamps with CLOCK_MONOTONIC.
  bool calibrates_time = false;
  // SPIR-V capabilities that the device is created with, sorted.
  std::vector<std::uint32_t> capabilities;

  bool has_capability(std::uint32_t capability) const;
};

// The features that Gpu::capabilities stands for, as a chain of structures for vkCreateDevice.
struct Features {
  VkPhysicalDeviceFeatures2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
  VkPhysicalDeviceVulkan11Features v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};

  Features();
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;

  // Returns the features that kernels can require, each with its SPIR-V capability.
  std::array<std::pair<std::uint32_t, VkBool32*>, 14> by_capability();

  // Reads the device's features and keeps those of by_capability() and timelineSemaphore.
  void read(VkPhysicalDevice device);
};

// Writes one line to the log.
//
// level    [in]   GANTRY_LOG_*
using Log = std::function<void(std::int32_t level, std::string_view text)>;

class Instance {
 public:
  // Starts the Vulkan loader and all drivers, unless another runtime has started them.
  //
  // returns  UNAVAILABLE  no driver starts, the text lists the searched locations
  //                       (DRIVER_MISSING); the loader is older than Vulkan 1.2 (DRIVER_TOO_OLD);
  //                       the validation layer is enabled and not installed (LAYER_MISSING)
  // thread   any
  // costs    up to a second
  static Result<std::unique_ptr<Instance>> create(const Options& options, Log log);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const std::vector<Gpu>& gpus() const { return gpus_; }
  // Devices that cannot be used, each with the reason: "GeForce 8 (Vulkan 1.1, minimum is 1.2)".
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  explicit Instance(Log log) : log_(std::move(log)) {}
  Status start(const Options& options);
  Status find_gpus(const Options& options);
  static VKAPI_ATTR VkBool32 VKAPI_CALL message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                VkDebugUtilsMessageTypeFlagsEXT types,
                                                const VkDebugUtilsMessengerCallbackDataEXT* data,
                                                void* self);

  Log log_;
  VkInstance instance_ = VK_NULL_HANDLE;
  // False: it is the process's.
  bool is_own_ = false;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::vector<Gpu> gpus_;
  std::vector<std::string> left_out_;
};

}  // namespace gantry::vulkan
