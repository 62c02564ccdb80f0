// SPDX-License-Identifier: Apache-2.0
//
// The accelerators of one runtime, and the table through which the host works with them.
#pragma once

#include "memory.hpp"
#include "stream.hpp"

#include <gantry/device.h>
#include <gantry/handle.hpp>

#include <memory>
#include <string>
#include <vector>

namespace abacus {

struct Device {
  Device(std::int32_t index, std::uint64_t memory_bytes) : memory(index, memory_bytes) {}

  Memory memory;
  Stream default_stream;
};

// What the plugin's functions get as self.
class Plugin {
 public:
  // returns  INVALID  an option out of its range; what the host says where it does not know the device
  static gantry::Result<std::unique_ptr<Plugin>> create(const gantry_host* host);

  const gantry_host* host() const { return host_; }
  std::int32_t device_type() const { return type_; }
  std::int32_t device_count() const { return static_cast<std::int32_t>(devices_.size()); }

  // returns  INVALID  no such device
  gantry::Result<Device*> device(std::int32_t index) const;
  // stream   [in]   NULL: the device's default stream
  gantry::Result<Stream*> stream(std::int32_t index, void* stream) const;

 private:
  explicit Plugin(const gantry_host* host) : host_(host) {}

  const gantry_host* host_;
  // the host assigns it
  std::int32_t type_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;
};

extern const gantry_device_table device_table;

}  // namespace abacus
