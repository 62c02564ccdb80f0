// SPDX-License-Identifier: Apache-2.0
//
// gantry.cuda - NVIDIA's GPUs, and the kernels that compilers made for them.
//
// Creating it opens no driver: payloads can be read on any machine.
#pragma once

#include "device_functions.hpp"
#include "module.hpp"

#include <gantry/plugin.hpp>

namespace gantry::cuda {

// The plugin in one runtime.
struct Plugin {
  static constexpr PluginIdentity identity{.id = "gantry.cuda",
                                           .version = GANTRY_PLUGIN_VERSION,
                                           .vendor = "gantry",
                                           .display_name = "CUDA kernels",
                                           .license = "Apache-2.0"};
  using Loaders = Types<Module>;
  using Devices = Types<DeviceFunctions>;

  explicit Plugin(Host lent) : host(lent), gpus(lent) {}

  Host host;
  cuda::Devices gpus;
};

}  // namespace gantry::cuda
