// SPDX-License-Identifier: Apache-2.0
//
// Options of the manifest's config_schema.
#pragma once

#include <gantry/handle.hpp>

#include <string>

namespace gantry::vulkan {

// The memory of buffers: `mapped` is memory of the device that the host can write, `staged` memory that
// it cannot, with copies through buffers in between; `automatic` depends on the device.
enum class MemoryChoice { automatic, mapped, staged };

// How buffers are bound: pushed into the command buffer, or by descriptor sets from pools.
enum class DescriptorChoice { automatic, push, sets };

struct Options {
  // The validation layer, with its messages in the host's log.
  bool validation = false;
  bool software_devices = true;
  bool pipeline_cache = true;
  MemoryChoice memory = MemoryChoice::automatic;
  DescriptorChoice descriptors = DescriptorChoice::automatic;
};

// returns  INVALID  a value that the option does not have (CONFIG)
Result<Options> read_options(Host host);

}  // namespace gantry::vulkan
