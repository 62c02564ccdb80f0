// SPDX-License-Identifier: Apache-2.0
//
// Measures dispatches that the plugin records with the device's clock: this program defines
// vkCmdDispatch, which takes precedence over the Vulkan loader's, and writes a timestamp before and
// after each.
#pragma once

namespace gantry::bench {

// Records the dispatches on one device during its lifetime. At most one object may exist.
class VulkanKernels {
 public:
  VulkanKernels();
  ~VulkanKernels();
  VulkanKernels(const VulkanKernels&) = delete;
  VulkanKernels& operator=(const VulkanKernels&) = delete;

  // Returns the sum of the times between the two timestamps of each dispatch. The dispatches must
  // be complete.
  //
  // period   [in]   nanoseconds of a tick: timestampPeriod
  // throws   Failed if there was none or more than the maximum, or a queue has no clock
  double device_ns(double period);
};

}  // namespace gantry::bench
