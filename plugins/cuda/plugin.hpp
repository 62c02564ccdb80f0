// SPDX-License-Identifier: Apache-2.0
//
// What the plugin keeps for one runtime: who lent itself, and the devices.
#pragma once

#include "device.hpp"

#include <gantry/loader.h>
#include <gantry/handle.hpp>

namespace gantry::cuda {

struct Plugin {
  explicit Plugin(const gantry_host* table) : host(table), devices(Host(table)) {}
  Host host;
  Devices devices;
};

extern const gantry_loader_table loader_table;

}  // namespace gantry::cuda
