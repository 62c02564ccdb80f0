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
  static constexpr PluginIdentity identity{.id = "gantry.opencl",
                                           .version = GANTRY_PLUGIN_VERSION,
                                           .vendor = "gantry",
                                           .display_name = "OpenCL",
                                           .license = "Apache-2.0"};
  using Loaders = Types<Module>;
  using Devices = Types<DeviceFunctions>;

  explicit Plugin(Host given);

  Host host;
  Driver driver;
  // Destroyed before the driver: its destructor waits for launches.
  Programs programs;
  // The last Buffer::number assigned.
  std::atomic<std::uint64_t> last_buffer{0};
};

}  // namespace gantry::opencl
