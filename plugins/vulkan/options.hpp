// SPDX-License-Identifier: Apache-2.0
//
// Options of the manifest's config_schema.
#pragma once

#include <gantry/handle.hpp>

namespace gantry::vulkan {

// The memory of buffers: `mapped` is device memory that the host can access, `staged` is memory
// that it reaches through staging buffers only; `automatic` depends on the device.
enum class MemoryChoice { automatic, mapped, staged };

// How buffers are bound: pushed into the command buffer, or by descriptor sets from pools.
enum class DescriptorChoice { automatic, push, sets };

struct Options {
  // Enables the validation layer and logs its messages.
  bool validation = false;
  bool software_devices = true;
  bool pipeline_cache = true;
  MemoryChoice memory = MemoryChoice::automatic;
  DescriptorChoice descriptors = DescriptorChoice::automatic;
};

// returns  INVALID  an option's value has the wrong type or is unknown (CONFIG)
Result<Options> read_options(Host host);

}  // namespace gantry::vulkan
