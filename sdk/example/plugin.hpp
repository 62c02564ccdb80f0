// SPDX-License-Identifier: Apache-2.0
//
// The plugin in one runtime: its options and its accelerators.
#pragma once

#include "device.hpp"
#include "module.hpp"

#include <gantry/plugin.hpp>

#include <memory>
#include <vector>

namespace abacus {

class Plugin {
 public:
  using Loaders = gantry::Types<Module>;
  using Devices = gantry::Types<Device>;

  // returns  what the host reports where it does not know the device
  static gantry::Result<std::unique_ptr<Plugin>> create(gantry::Host host);

  gantry::Host host() const { return host_; }
  // The number that the runtime assigned.
  std::int32_t device_type() const { return type_; }
  std::int32_t device_count() const { return static_cast<std::int32_t>(devices_.size()); }
  // returns  INVALID  there is none (DEVICE_INDEX)
  gantry::Result<Device*> device(std::int32_t index) const;

 private:
  explicit Plugin(gantry::Host host) : host_(host) {}

  gantry::Host host_;
  std::int32_t type_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace abacus
