// SPDX-License-Identifier: Apache-2.0
//
// The device's own times of dispatches that others record: this program defines vkCmdDispatch, which comes before the Vulkan
// loader's also for the plugin, and puts a timestamp in front of each and one behind it.
#pragma once

namespace gantry::bench {

// What is recorded while one lives, on one device. One at a time.
class VulkanKernels {
 public:
  VulkanKernels();
  ~VulkanKernels();
  VulkanKernels(const VulkanKernels&) = delete;
  VulkanKernels& operator=(const VulkanKernels&) = delete;

  // Adds up what lies between the two timestamps of each. They have been waited for.
  //
  // period   [in]   nanoseconds of a tick: timestampPeriod
  // throws   Failed where there was none, more than can be kept, or a queue has no clock
  double device_ns(double period);
};

}  // namespace gantry::bench
