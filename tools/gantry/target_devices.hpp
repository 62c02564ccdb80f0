// SPDX-License-Identifier: Apache-2.0
//
// The devices of this host for compilation targets: drivers are started when a device is first read.
#pragma once

#include "core/runtime/installed_plugins.hpp"
#include "core/target/target.hpp"

#include <gantry/runtime.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace gantry::cli {

class TargetDevices {
 public:
  // limit    [in]   time for each driver
  TargetDevices(Runtime runtime, std::chrono::milliseconds limit)
      : runtime_(std::move(runtime)), limit_(limit) {}

  // returns  unavailable if no child process can be created
  // costs    the first call starts every driver: up to seconds
  Result<std::vector<DeviceInfo>> all();
  // The function for parse_target(). Borrows this object.
  //
  // returns  not_found: no such device, with the number of devices and the errors of plugins
  DeviceAttributes attributes();
  // Errors of plugins since the first call.
  const std::vector<Message>& problems() const { return problems_; }

 private:
  Runtime runtime_;
  std::chrono::milliseconds limit_;
  std::optional<std::vector<DeviceInfo>> devices_;
  std::vector<Message> problems_;
};

}  // namespace gantry::cli
