// SPDX-License-Identifier: Apache-2.0
//
// Driver functions that the test program defines, which intercept the plugin's calls of the Vulkan
// loader. They count allocations and simulate a driver with a lower limit.
#pragma once

#include <atomic>
#include <cstddef>

namespace gantry::vulkan::test {

struct Between {
  // Live allocations of vkAllocateMemory.
  std::atomic<std::size_t> allocations{0};
  // At this limit vkAllocateMemory returns VK_ERROR_TOO_MANY_OBJECTS.
  std::atomic<std::size_t> max_allocations{~std::size_t{0}};
};
extern Between between;

}  // namespace gantry::vulkan::test
