// SPDX-License-Identifier: Apache-2.0
//
// The state of the plugin in one runtime.
#pragma once

#include "device.hpp"
#include "module.hpp"

#include <gantry/plugin.hpp>

#include <atomic>
#include <cstdint>

namespace gantry::opencl {

struct Plugin {
  using Loaders = Types<Module>;
  using Devices = Types<DeviceFunctions>;

  explicit Plugin(Host given);

  // Stores OpenCL C, or, for a target with -format=clbin or if the recipe requires compiled code,
  // a binary for a device of this host.
  //
  // returns  UNSUPPORTED  the source does not compile; the text contains the compiler's log
  //                       (KERNEL_BUILD); it lacks a kernel (KERNEL); its record cannot be launched
  //          UNAVAILABLE  no driver or no compiler (DRIVER_MISSING, DRIVER_CALL)
  //          INVALID      a wrong option of the target (CONFIG), no such device (DEVICE_INDEX)
  // thread   any
  // costs    source: O(bytes); binary: up to seconds
  Status build(const Build& what, const Sink& sink);
  // Opens the device of a binary. Source requires none.
  //
  // returns  as build(), for the target
  Status check(const Build& what);

  Host host;
  Driver driver;
  // Destroyed before the driver: its destructor waits for launches.
  Programs programs;
  HostBuffers host_buffers;
  // The last Buffer::number assigned.
  std::atomic<std::uint64_t> last_buffer{0};
};

}  // namespace gantry::opencl
