// SPDX-License-Identifier: Apache-2.0
//
// Measures kernels that the plugin launches with the device's clock: this program defines
// clEnqueueNDRangeKernel, which takes precedence over the ICD loader's, and requests an event for
// each launch.
#pragma once

namespace gantry::bench {

// Records the launches during its lifetime. At most one object may exist.
class OpenclKernels {
 public:
  OpenclKernels();
  ~OpenclKernels();
  OpenclKernels(const OpenclKernels&) = delete;
  OpenclKernels& operator=(const OpenclKernels&) = delete;

  // Waits for the kernels and returns the sum of their times from START to END.
  //
  // throws   Failed if there was none, or a queue does not record times
  double device_ns();
};

}  // namespace gantry::bench
