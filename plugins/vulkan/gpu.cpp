// SPDX-License-Identifier: Apache-2.0
//
// Enumeration of devices: properties, capabilities and order.
#include "driver.hpp"

#include <gantry/hardware_id.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>

namespace gantry::vulkan {
namespace {

// Sorts devices as TVM's runtime does: discrete, integrated, virtual, CPU, other.
std::ptrdiff_t rank_of(VkPhysicalDeviceType type) {
  constexpr VkPhysicalDeviceType order[] = {
      VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
      VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, VK_PHYSICAL_DEVICE_TYPE_CPU};
  return std::ranges::find(order, type) - std::begin(order);
}

bool has_extension(const std::vector<VkExtensionProperties>& extensions, const char* name) {
  return std::any_of(extensions.begin(), extensions.end(), [&](const auto& extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

std::vector<VkExtensionProperties> extensions_of(VkPhysicalDevice device) {
  std::uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
  extensions.resize(count);
  return extensions;
}

// Returns a queue family for compute; one without graphics is preferred, because it is not shared
// with graphics work.
//
// timestamp_bits  [out]  of the family; 0: no clock
std::optional<std::uint32_t> compute_queue(VkPhysicalDevice device, std::uint32_t* timestamp_bits) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  std::optional<std::uint32_t> chosen;
  for (std::uint32_t i = 0; i < count; ++i) {
    const VkQueueFlags flags = families[i].queueFlags;
    if ((flags & VK_QUEUE_COMPUTE_BIT) == 0 || families[i].queueCount == 0) continue;
    const bool computes_only = (flags & VK_QUEUE_GRAPHICS_BIT) == 0;
    if (chosen && !computes_only) continue;
    chosen = i;
    *timestamp_bits = families[i].timestampValidBits;
    if (computes_only) break;
  }
  return chosen;
}

// Returns the sorted numbers of the SPIR-V capabilities that features and subgroup operations
// allow.
std::vector<std::uint32_t> capabilities_of(Features& features,
                                           const VkPhysicalDeviceSubgroupProperties& subgroup) {
  // Matrix, Shader, ImageQuery.
  std::vector<std::uint32_t> capabilities{0, 1, 50};
  for (const auto& [capability, feature] : features.by_capability()) {
    if (*feature == VK_TRUE) capabilities.push_back(capability);
  }
  if ((subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) {
    // GroupNonUniform 61, Vote 62, Arithmetic 63, Ballot 64, Shuffle 65, ShuffleRelative 66,
    // Clustered 67, Quad 68.
    for (std::uint32_t bit = 0; bit < 8; ++bit) {
      if ((subgroup.supportedOperations >> bit & 1u) != 0) capabilities.push_back(61 + bit);
    }
  }
  std::sort(capabilities.begin(), capabilities.end());
  return capabilities;
}

// True if the driver reads the device's clock and CLOCK_MONOTONIC at the same moment.
bool calibrates_time(VkInstance instance, VkPhysicalDevice device,
                     const std::vector<VkExtensionProperties>& extensions) {
  if (!has_extension(extensions, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME)) return false;
  const auto domains_of = reinterpret_cast<PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT"));
  std::uint32_t count = 0;
  if (domains_of == nullptr || domains_of(device, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkTimeDomainEXT> domains(count);
  if (domains_of(device, &count, domains.data()) != VK_SUCCESS) return false;
  domains.resize(count);
  const auto has = [&](VkTimeDomainEXT domain) {
    return std::ranges::find(domains, domain) != domains.end();
  };
  return has(VK_TIME_DOMAIN_DEVICE_EXT) && has(VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT);
}

// Memory that must be dedicated to a buffer is left out: the exporter's buffer is not known here.
VkExternalMemoryHandleTypeFlags descriptor_kinds(
    VkPhysicalDevice device, const std::vector<VkExtensionProperties>& extensions) {
  if (!has_extension(extensions, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) return 0;
  VkExternalMemoryHandleTypeFlags kinds = 0;
  for (const auto kind : {VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                          VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT}) {
    if (kind == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT &&
        !has_extension(extensions, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME))
      continue;
    const VkPhysicalDeviceExternalBufferInfo info{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, nullptr, 0, data_usage, kind};
    VkExternalBufferProperties buffer{VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vkGetPhysicalDeviceExternalBufferProperties(device, &info, &buffer);
    constexpr VkExternalMemoryFeatureFlags importable = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    const auto features = buffer.externalMemoryProperties.externalMemoryFeatures;
    if ((features & (importable | VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT)) == importable)
      kinds |= kind;
  }
  return kinds;
}

// Reads the properties that require Vulkan 1.2.
void read_details(VkInstance instance, Gpu& gpu) {
  VkPhysicalDevicePushDescriptorPropertiesKHR push{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR};
  VkPhysicalDeviceSubgroupProperties subgroup{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, &subgroup, 0, 0};
  VkPhysicalDeviceIDProperties identity{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  identity.pNext = &sizes;
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  driver.pNext = &identity;
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &driver, {}};
  const auto extensions = extensions_of(gpu.handle);
  const bool pushes = has_extension(extensions, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  if (pushes) subgroup.pNext = &push;
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  const bool imports_host_memory =
      has_extension(extensions, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (imports_host_memory) {
    host.pNext = std::exchange(subgroup.pNext, &host);
  }
  const bool is_on_pci = has_extension(extensions, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
  if (is_on_pci) {
    pci.pNext = all.pNext;
    all.pNext = &pci;
  }
  vkGetPhysicalDeviceProperties2(gpu.handle, &all);

  gpu.uuid = uuid_text(std::span<const std::uint8_t, 16>(identity.deviceUUID));
  if (is_on_pci)
    gpu.pci_address = pci_address_text(pci.pciDomain, pci.pciBus, pci.pciDevice, pci.pciFunction);
  gpu.has_memory_budget = has_extension(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  gpu.host_memory_alignment = imports_host_memory ? host.minImportedHostPointerAlignment : 0;
  gpu.has_foreign_queues = has_extension(extensions, VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME);
  gpu.descriptor_kinds = descriptor_kinds(gpu.handle, extensions);
  gpu.calibrates_time =
      gpu.timestamp_bits != 0 && calibrates_time(instance, gpu.handle, extensions);
  gpu.max_push_descriptors = pushes ? push.maxPushDescriptors : 0;
  gpu.subgroup_size = subgroup.subgroupSize;
  gpu.max_allocation_bytes = sizes.maxMemoryAllocationSize;
  gpu.driver = driver.driverName;
  if (driver.driverInfo[0] != 0) gpu.driver += concat(' ', std::string_view(driver.driverInfo));
  Features features;
  features.read(gpu.handle);
  gpu.capabilities = capabilities_of(features, subgroup);
}

}  // namespace

bool Gpu::has_capability(std::uint32_t capability) const {
  return std::binary_search(capabilities.begin(), capabilities.end(), capability);
}

Features::Features() {
  core.pNext = &v11;
  v11.pNext = &v12;
}

std::array<std::pair<std::uint32_t, VkBool32*>, 14> Features::by_capability() {
  return {{{5345, &v12.vulkanMemoryModel},
           {5346, &v12.vulkanMemoryModelDeviceScope},
           {9, &v12.shaderFloat16},
           {10, &core.features.shaderFloat64},
           {11, &core.features.shaderInt64},
           {12, &v12.shaderBufferInt64Atomics},
           {22, &core.features.shaderInt16},
           {39, &v12.shaderInt8},
           {4433, &v11.storageBuffer16BitAccess},
           {4434, &v11.uniformAndStorageBuffer16BitAccess},
           {4441, &v11.variablePointersStorageBuffer},
           {4442, &v11.variablePointers},
           {4448, &v12.storageBuffer8BitAccess},
           {4449, &v12.uniformAndStorageBuffer8BitAccess}}};
}

void Features::read(VkPhysicalDevice device) {
  Features has;
  vkGetPhysicalDeviceFeatures2(device, &has.core);
  const auto from = has.by_capability();
  const auto to = by_capability();
  for (std::size_t i = 0; i < to.size(); ++i) *to[i].second = *from[i].second;
  v12.timelineSemaphore = has.v12.timelineSemaphore;
}

Status Instance::find_gpus(const Options& options) {
  std::uint32_t count = 0;
  vkEnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> handles(count);
  const VkResult result = vkEnumeratePhysicalDevices(instance_, &count, handles.data());
  if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
    return driver_error(result, "vkEnumeratePhysicalDevices");
  }
  handles.resize(count);
  for (const VkPhysicalDevice handle : handles) {
    Gpu gpu;
    gpu.handle = handle;
    vkGetPhysicalDeviceProperties(handle, &gpu.properties);
    vkGetPhysicalDeviceMemoryProperties(handle, &gpu.memory);
    const std::uint32_t version = gpu.properties.apiVersion;
    const auto leave_out = [&](const auto&... why) {
      left_out_.push_back(concat(std::string_view(gpu.properties.deviceName), " (", why..., ')'));
    };
    const auto family = compute_queue(handle, &gpu.timestamp_bits);
    if (version < VK_API_VERSION_1_2) {
      leave_out("Vulkan ", VK_API_VERSION_MAJOR(version), '.', VK_API_VERSION_MINOR(version),
                ", minimum is 1.2");
    } else if (!family) {
      leave_out("no compute queue");
    } else if (gpu.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
               !options.software_devices) {
      leave_out("a software device, excluded by option software_devices");
    } else {
      gpu.queue_family = *family;
      read_details(instance_, gpu);
      gpus_.push_back(std::move(gpu));
    }
  }
  std::stable_sort(gpus_.begin(), gpus_.end(), [](const Gpu& a, const Gpu& b) {
    return rank_of(a.properties.deviceType) < rank_of(b.properties.deviceType);
  });
  return {};
}

}  // namespace gantry::vulkan
