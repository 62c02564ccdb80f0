// SPDX-License-Identifier: Apache-2.0
//
// The device's own times of kernels that others launch: this program defines clEnqueueNDRangeKernel, which comes before the
// ICD loader's also for the plugin, and asks for the events that the plugin does without.
#pragma once

namespace gantry::bench {

// What is launched while one lives. One at a time.
class OpenclKernels {
 public:
  OpenclKernels();
  ~OpenclKernels();
  OpenclKernels(const OpenclKernels&) = delete;
  OpenclKernels& operator=(const OpenclKernels&) = delete;

  // Waits for them and adds up what lies between START and END of each.
  //
  // throws   Failed where there was none, or a queue keeps no times
  double device_ns();
};

}  // namespace gantry::bench
