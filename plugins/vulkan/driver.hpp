// SPDX-License-Identifier: Apache-2.0
//
// The Vulkan instance of one plugin, and the devices that it finds.
//
//     Instance::create(options, log)     starts loader and drivers, looks at every device once
//     gpus()                             those that can compute for us, real GPUs first
//
// Nothing is created before somebody asks for a device: a process that only loads payloads starts no driver.
#pragma once

#include "options.hpp"

#include <gantry/result.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <vulkan/vulkan.h>

namespace gantry::vulkan {

// The error that a driver call stands for: EXHAUSTED for memory, UNAVAILABLE for the rest; DRIVER_CALL.
// "vkAllocateMemory returns VK_ERROR_OUT_OF_DEVICE_MEMORY (-2)"
Error driver_error(VkResult result, std::string_view call);

// What is known of one device before it is used.
struct Gpu {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceMemoryProperties memory{};
  // name and version as the driver tells them
  std::string driver;
  std::uint64_t max_allocation_bytes = 0;
  std::uint32_t subgroup_size = 1;
  std::uint32_t queue_family = 0;
  // 0: the queue has no clock
  std::uint32_t timestamp_bits = 0;
  // 0: no VK_KHR_push_descriptor
  std::uint32_t max_push_descriptors = 0;
  bool has_memory_budget = false;
  // of SPIR-V, those that the device is created with; sorted
  std::vector<std::uint32_t> capabilities;

  bool has_capability(std::uint32_t capability) const;
};

// Features of a device in the form that its creation takes; those that Gpu::capabilities stand for.
struct Features {
  VkPhysicalDeviceFeatures2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
  VkPhysicalDeviceVulkan11Features v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};

  Features();
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;

  // Reads what the device has, and leaves on what kernels can ask for.
  void read(VkPhysicalDevice device);
};

// Takes one line for the log, at a level of gantry/host.h.
using Log = std::function<void(std::int32_t level, std::string_view text)>;

class Instance {
 public:
  // returns  UNAVAILABLE  no driver (DRIVER_MISSING): the text says where one was looked for; the validation layer is
  //                       asked for and not installed (LAYER_MISSING)
  // costs    starts every driver of the machine: up to a second
  static Result<std::unique_ptr<Instance>> create(const Options& options, Log log);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const std::vector<Gpu>& gpus() const { return gpus_; }
  // Devices that cannot be used, each with its reason: "GeForce 8 (Vulkan 1.1, oldest is 1.2)".
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
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::vector<Gpu> gpus_;
  std::vector<std::string> left_out_;
};

// Where the loader looks for drivers when nobody tells it otherwise, and what is there:
// "/etc/vulkan/icd.d (not there), /usr/share/vulkan/icd.d (lvp_icd.x86_64.json)".
std::string driver_locations();

}  // namespace gantry::vulkan
