// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/vulkan/between.hpp"

#include <dlfcn.h>
#include <vulkan/vulkan.h>

namespace gantry::vulkan::test {
Between between;
}

using gantry::vulkan::test::between;

extern "C" {

[[gnu::visibility("default")]] VKAPI_ATTR VkResult VKAPI_CALL
vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                 const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
  static const auto real =
      reinterpret_cast<PFN_vkAllocateMemory>(dlsym(RTLD_NEXT, "vkAllocateMemory"));
  if (between.allocations >= between.max_allocations) return VK_ERROR_TOO_MANY_OBJECTS;
  const VkResult result = real(device, info, callbacks, memory);
  if (result == VK_SUCCESS) ++between.allocations;
  return result;
}

[[gnu::visibility("default")]] VKAPI_ATTR void VKAPI_CALL
vkFreeMemory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* callbacks) {
  static const auto real = reinterpret_cast<PFN_vkFreeMemory>(dlsym(RTLD_NEXT, "vkFreeMemory"));
  if (memory != VK_NULL_HANDLE) --between.allocations;
  real(device, memory, callbacks);
}

}  // extern "C"
