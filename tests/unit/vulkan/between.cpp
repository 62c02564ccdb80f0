// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/vulkan/between.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace gantry::vulkan::test {
Between between;

namespace {

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define NEXT(function) ::gantry::vulkan::test::next(function, #function)

// Submits the batches up to a value of the semaphore to the driver.
VkResult run_until(std::uint64_t value) {
  while (!between.submitted.empty() && between.submitted.front().value <= value) {
    const Between::Submitted next_one = between.submitted.front();
    between.submitted.pop_front();
    VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    values.signalSemaphoreValueCount = 1;
    values.pSignalSemaphoreValues = &next_one.value;
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.pNext = &values;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &next_one.commands;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &next_one.semaphore;
    const VkResult result = NEXT(vkQueueSubmit)(next_one.queue, 1, &info, VK_NULL_HANDLE);
    if (result != VK_SUCCESS) return result;
  }
  return VK_SUCCESS;
}

void list_range(const char* call, const VkMappedMemoryRange& range) {
  between.mapped_ranges.push_back(call + std::to_string(range.offset) + ' ' +
                                  std::to_string(range.size));
}

void list_command(std::string text) {
  if (between.lists_commands) between.commands.push_back(std::move(text));
}

constexpr auto opaque = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr auto dma_buf = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
constexpr const char* dma_buf_extensions[] = {VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
                                              VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME};

VKAPI_ATTR VkResult VKAPI_CALL properties_of_dma_buf(VkDevice, VkExternalMemoryHandleTypeFlagBits,
                                                     int, VkMemoryFdPropertiesKHR* properties) {
  properties->memoryTypeBits = between.dma_buf_types;
  return VK_SUCCESS;
}

}  // namespace
}  // namespace gantry::vulkan::test

using gantry::vulkan::test::between;

#define DRIVER extern "C" [[gnu::visibility("default")]] VKAPI_ATTR

DRIVER VkResult VKAPI_CALL vkCreateInstance(const VkInstanceCreateInfo* info,
                                            const VkAllocationCallbacks* callbacks,
                                            VkInstance* instance) {
  const VkResult result = NEXT(vkCreateInstance)(info, callbacks, instance);
  if (result == VK_SUCCESS && info->enabledLayerCount == 0) ++between.instances;
  return result;
}
DRIVER void VKAPI_CALL vkDestroyInstance(VkInstance instance,
                                         const VkAllocationCallbacks* callbacks) {
  ++between.destroyed_instances;
  NEXT(vkDestroyInstance)(instance, callbacks);
}

DRIVER VkResult VKAPI_CALL vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                            const VkAllocationCallbacks* callbacks,
                                            VkDeviceMemory* memory) {
  if (between.allocations >= between.max_allocations) return VK_ERROR_TOO_MANY_OBJECTS;
  VkMemoryAllocateInfo real = *info;
  if (between.is_incoherent) real.memoryTypeIndex = 0;
  VkImportMemoryFdInfoKHR import{};
  if (info->pNext != nullptr) std::memcpy(&import, info->pNext, sizeof(VkBaseInStructure));
  if (import.sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR) {
    if (between.import_error != VK_SUCCESS) return between.import_error;
    std::memcpy(&import, info->pNext, sizeof import);
    if (import.handleType == gantry::vulkan::test::dma_buf)
      import.handleType = gantry::vulkan::test::opaque;
    real.pNext = &import;
  }
  const VkResult result = NEXT(vkAllocateMemory)(device, &real, callbacks, memory);
  if (result == VK_SUCCESS) ++between.allocations;
  if (result == VK_SUCCESS && real.pNext == &import && ::fcntl(import.fd, F_GETFD) < 0)
    between.reused_descriptor = ::dup2(STDERR_FILENO, import.fd);
  return result;
}
DRIVER void VKAPI_CALL vkFreeMemory(VkDevice device, VkDeviceMemory memory,
                                    const VkAllocationCallbacks* callbacks) {
  if (memory != VK_NULL_HANDLE) --between.allocations;
  NEXT(vkFreeMemory)(device, memory, callbacks);
}

DRIVER VkResult VKAPI_CALL vkQueueSubmit(VkQueue queue, std::uint32_t count,
                                         const VkSubmitInfo* infos, VkFence fence) {
  if (!between.is_late) return NEXT(vkQueueSubmit)(queue, count, infos, fence);
  const auto* const values = static_cast<const VkTimelineSemaphoreSubmitInfo*>(infos->pNext);
  between.submitted.push_back({queue, infos->pCommandBuffers[0], infos->pSignalSemaphores[0],
                               values->pSignalSemaphoreValues[0]});
  between.max_submitted = std::max(between.max_submitted, between.submitted.size());
  return VK_SUCCESS;
}
DRIVER VkResult VKAPI_CALL vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo* info,
                                            std::uint64_t timeout) {
  if (between.is_late) {
    const VkResult result = gantry::vulkan::test::run_until(*info->pValues);
    if (result != VK_SUCCESS) return result;
  }
  // A batch that was never submitted is an error, not a hang.
  constexpr std::uint64_t max_ns = 20'000'000'000;
  return NEXT(vkWaitSemaphores)(device, info, std::min(timeout, max_ns));
}
DRIVER VkResult VKAPI_CALL vkQueueWaitIdle(VkQueue queue) {
  const VkResult result = gantry::vulkan::test::run_until(UINT64_MAX);
  return result != VK_SUCCESS ? result : NEXT(vkQueueWaitIdle)(queue);
}

DRIVER VkResult VKAPI_CALL vkEnumerateDeviceExtensionProperties(VkPhysicalDevice device,
                                                                const char* layer,
                                                                std::uint32_t* count,
                                                                VkExtensionProperties* extensions) {
  std::uint32_t all = 0;
  NEXT(vkEnumerateDeviceExtensionProperties)(device, layer, &all, nullptr);
  std::vector<VkExtensionProperties> found(all);
  NEXT(vkEnumerateDeviceExtensionProperties)(device, layer, &all, found.data());
  std::erase_if(found, [](const VkExtensionProperties& extension) {
    return between.hidden_extension == extension.extensionName;
  });
  for (const char* const name : gantry::vulkan::test::dma_buf_extensions) {
    if (!between.has_dma_buf) continue;
    std::strncpy(found.emplace_back().extensionName, name, VK_MAX_EXTENSION_NAME_SIZE - 1);
  }
  *count = static_cast<std::uint32_t>(found.size());
  if (extensions != nullptr) std::copy(found.begin(), found.end(), extensions);
  return VK_SUCCESS;
}
DRIVER void VKAPI_CALL vkGetPhysicalDeviceExternalBufferProperties(
    VkPhysicalDevice device, const VkPhysicalDeviceExternalBufferInfo* info,
    VkExternalBufferProperties* properties) {
  VkPhysicalDeviceExternalBufferInfo real = *info;
  if (between.has_dma_buf) real.handleType = gantry::vulkan::test::opaque;
  NEXT(vkGetPhysicalDeviceExternalBufferProperties)(device, &real, properties);
  VkExternalMemoryFeatureFlags& features =
      properties->externalMemoryProperties.externalMemoryFeatures;
  features = between.external_features.value_or(features);
}
DRIVER VkResult VKAPI_CALL vkCreateDevice(VkPhysicalDevice gpu, const VkDeviceCreateInfo* info,
                                          const VkAllocationCallbacks* callbacks,
                                          VkDevice* device) {
  VkDeviceCreateInfo real = *info;
  std::vector<const char*> names(info->ppEnabledExtensionNames,
                                 info->ppEnabledExtensionNames + info->enabledExtensionCount);
  if (between.has_dma_buf) {
    for (const char* const name : gantry::vulkan::test::dma_buf_extensions)
      std::erase_if(names, [&](const char* other) { return std::strcmp(name, other) == 0; });
  }
  real.ppEnabledExtensionNames = names.data();
  real.enabledExtensionCount = static_cast<std::uint32_t>(names.size());
  return NEXT(vkCreateDevice)(gpu, &real, callbacks, device);
}
DRIVER PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device, const char* name) {
  if (between.has_dma_buf && std::strcmp(name, "vkGetMemoryFdPropertiesKHR") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(&gantry::vulkan::test::properties_of_dma_buf);
  return NEXT(vkGetDeviceProcAddr)(device, name);
}
DRIVER VkResult VKAPI_CALL vkCreateBuffer(VkDevice device, const VkBufferCreateInfo* info,
                                          const VkAllocationCallbacks* callbacks,
                                          VkBuffer* buffer) {
  VkBufferCreateInfo real = *info;
  VkExternalMemoryBufferCreateInfo external{};
  if (info->pNext != nullptr) {
    std::memcpy(&external, info->pNext, sizeof external);
    if (external.handleTypes == gantry::vulkan::test::dma_buf)
      external.handleTypes = gantry::vulkan::test::opaque;
    real.pNext = &external;
  }
  return NEXT(vkCreateBuffer)(device, &real, callbacks, buffer);
}

DRIVER void VKAPI_CALL vkGetPhysicalDeviceProperties(VkPhysicalDevice device,
                                                     VkPhysicalDeviceProperties* properties) {
  NEXT(vkGetPhysicalDeviceProperties)(device, properties);
  if (between.change) between.change(*properties);
}
DRIVER void VKAPI_CALL vkGetPhysicalDeviceMemoryProperties(
    VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* properties) {
  NEXT(vkGetPhysicalDeviceMemoryProperties)(device, properties);
  if (!between.is_incoherent) return;
  constexpr VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  properties->memoryTypeCount = 2;
  properties->memoryTypes[1] = properties->memoryTypes[0];
  properties->memoryTypes[0].propertyFlags =
      visible | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  properties->memoryTypes[1].propertyFlags = visible | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
}
DRIVER void VKAPI_CALL vkGetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                                     VkMemoryRequirements* requirements) {
  NEXT(vkGetBufferMemoryRequirements)(device, buffer, requirements);
  if (between.is_incoherent) requirements->memoryTypeBits = 3;
}
DRIVER VkResult VKAPI_CALL vkFlushMappedMemoryRanges(VkDevice device, std::uint32_t count,
                                                     const VkMappedMemoryRange* ranges) {
  gantry::vulkan::test::list_range("flush ", *ranges);
  return NEXT(vkFlushMappedMemoryRanges)(device, count, ranges);
}
DRIVER VkResult VKAPI_CALL vkInvalidateMappedMemoryRanges(VkDevice device, std::uint32_t count,
                                                          const VkMappedMemoryRange* ranges) {
  gantry::vulkan::test::list_range("invalidate ", *ranges);
  return NEXT(vkInvalidateMappedMemoryRanges)(device, count, ranges);
}

DRIVER void VKAPI_CALL vkCmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                            VkPipelineStageFlags to, VkDependencyFlags flags,
                                            std::uint32_t count, const VkMemoryBarrier* barriers,
                                            std::uint32_t buffer_count,
                                            const VkBufferMemoryBarrier* buffers,
                                            std::uint32_t image_count,
                                            const VkImageMemoryBarrier* images) {
  std::string text = "barrier " + std::to_string(from) + "->" + std::to_string(to);
  for (std::uint32_t i = 0; i < count; ++i) {
    text += ", " + std::to_string(barriers[i].srcAccessMask) + "->" +
            std::to_string(barriers[i].dstAccessMask);
  }
  std::vector<VkBufferMemoryBarrier> transfers(buffers, buffers + buffer_count);
  const auto family = [](std::uint32_t& number) -> std::string {
    if (number == VK_QUEUE_FAMILY_EXTERNAL) return "external";
    if (number != VK_QUEUE_FAMILY_FOREIGN_EXT) return std::to_string(number);
    number = VK_QUEUE_FAMILY_EXTERNAL;
    return "foreign";
  };
  for (VkBufferMemoryBarrier& transfer : transfers)
    text += ", family " + family(transfer.srcQueueFamilyIndex) + "->" +
            family(transfer.dstQueueFamilyIndex);
  gantry::vulkan::test::list_command(text);
  NEXT(vkCmdPipelineBarrier)
  (commands, from, to, flags, count, barriers, buffer_count, transfers.data(), image_count, images);
}
DRIVER void VKAPI_CALL vkCmdCopyBuffer(VkCommandBuffer commands, VkBuffer from, VkBuffer to,
                                       std::uint32_t count, const VkBufferCopy* regions) {
  gantry::vulkan::test::list_command("copy");
  NEXT(vkCmdCopyBuffer)(commands, from, to, count, regions);
}
DRIVER void VKAPI_CALL vkCmdDispatch(VkCommandBuffer commands, std::uint32_t x, std::uint32_t y,
                                     std::uint32_t z) {
  gantry::vulkan::test::list_command("dispatch");
  NEXT(vkCmdDispatch)(commands, x, y, z);
}
DRIVER VkResult VKAPI_CALL vkEndCommandBuffer(VkCommandBuffer commands) {
  gantry::vulkan::test::list_command("end");
  return NEXT(vkEndCommandBuffer)(commands);
}
