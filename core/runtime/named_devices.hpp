// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/module/artifact.hpp"
#include "core/plugin/plugin_set.hpp"

#include <string>
#include <vector>

namespace gantry {

// The devices that an artifact is made for.
struct NamedDevices {
  // Kinds, the CPU last: "opencl", "cpu". At least one.
  std::vector<std::string> kinds;
  // named by a graph or a Relay executable, which run on no other device
  bool required = false;
};

// Returns the devices that the artifact names in its graph or Relay executable, or with the type key of a module that a
// plugin with devices serves; otherwise the CPU. Opens no plugin.
NamedDevices named_devices(const Artifact& artifact, const PluginSet& plugins);

}  // namespace gantry
