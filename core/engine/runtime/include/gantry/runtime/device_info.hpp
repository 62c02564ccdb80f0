// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

// One device of an installed plugin.
struct DeviceInfo {
  // "cpu"
  std::string name;
  // device type
  std::int32_t type;
  std::int32_t index;
  // id of the plugin; empty: the core
  std::string plugin;
  std::vector<std::pair<std::string, std::string>> attributes;
};

}  // namespace gantry
