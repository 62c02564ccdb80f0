// SPDX-License-Identifier: Apache-2.0
//
// Functions of the driver that this program defines itself, between the plugin and the Vulkan loader: they count, and
// they refuse as drivers do that are not there.
#pragma once

#include <atomic>
#include <cstddef>

namespace gantry::vulkan::test {

struct Between {
  // of vkAllocateMemory that are alive
  std::atomic<std::size_t> allocations{0};
  // then VK_ERROR_TOO_MANY_OBJECTS
  std::atomic<std::size_t> max_allocations{~std::size_t{0}};
};
extern Between between;

}  // namespace gantry::vulkan::test
