// SPDX-License-Identifier: Apache-2.0
//
// Driver functions that the test program defines, which intercept the plugin's calls of the Vulkan
// loader. They count calls and simulate other drivers:
//
//     a limit of allocations   max_allocations
//     a slow device            is_late: a batch runs when a call waits for it, not before, so that
//                              a missing wait is visible in the results
//     incoherent memory        is_incoherent: no memory type is coherent and cached, see below
//     other devices            change(): edits the properties that the device reports
//     other extensions         hidden_extension, external_features, has_dma_buf
#pragma once

#include <vulkan/vulkan.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gantry::vulkan::test {

struct Between {
  // Instances without a layer that were created, and instances that were destroyed.
  std::atomic<int> instances{0};
  std::atomic<int> destroyed_instances{0};

  // Live allocations of vkAllocateMemory.
  std::atomic<std::size_t> allocations{0};
  // At this limit vkAllocateMemory returns VK_ERROR_TOO_MANY_OBJECTS.
  std::atomic<std::size_t> max_allocations{~std::size_t{0}};

  std::atomic<bool> is_late{false};
  // Submitted and not yet run; only in tests of one thread.
  struct Submitted {
    VkQueue queue;
    VkCommandBuffer commands;
    VkSemaphore semaphore;
    std::uint64_t value;
  };
  std::deque<Submitted> submitted;
  // The most batches that were submitted and had not run.
  std::size_t max_submitted = 0;

  // True: the device's first memory type, which is all that software devices have, is reported as
  // two: 0 is device-local, cached and not coherent, 1 is coherent and not cached.
  bool is_incoherent = false;
  // Calls of vkFlushMappedMemoryRanges and vkInvalidateMappedMemoryRanges: "flush 0 64".
  std::vector<std::string> mapped_ranges;

  // A device extension that is not reported.
  std::string hidden_extension;
  // What descriptors can be used for as buffers, instead of the driver's answer.
  std::optional<VkExternalMemoryFeatureFlags> external_features;
  // True: the device reports the extensions for dma-bufs and for foreign queues. Each dma-buf is an
  // opaque descriptor of the driver, of a memory type among `dma_buf_types`.
  bool has_dma_buf = false;
  std::uint32_t dma_buf_types = ~0u;
  // The number of the last imported descriptor, if the driver has closed it, opened again: a test
  // closes it. -1: none.
  int reused_descriptor = -1;
  // The result of vkAllocateMemory for a descriptor, unless it is VK_SUCCESS.
  VkResult import_error = VK_SUCCESS;

  // The commands that are recorded: "copy", "dispatch", "barrier" with stages and accesses or with the
  // queue families of a buffer.
  bool lists_commands = false;
  std::vector<std::string> commands;

  std::function<void(VkPhysicalDeviceProperties&)> change;
};
extern Between between;

}  // namespace gantry::vulkan::test
