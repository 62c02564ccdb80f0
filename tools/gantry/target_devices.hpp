// SPDX-License-Identifier: Apache-2.0
//
// The devices of this host for compilation targets: drivers are started when a device is first read.
#pragma once

#include "tools/gantry/command.hpp"

#include "core/runtime/installed_plugins.hpp"
#include "core/target/target.hpp"

#include <gantry/runtime.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace gantry::cli {

class TargetDevices {
 public:
  // globals  [in]   of the runtime
  // limit    [in]   time for each driver
  TargetDevices(Runtime runtime, Globals globals, std::chrono::milliseconds limit)
      : runtime_(std::move(runtime)), globals_(std::move(globals)), limit_(limit) {}

  // returns  the failures of exclude_failing_drivers()
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
  Globals globals_;
  std::chrono::milliseconds limit_;
  std::optional<std::vector<DeviceInfo>> devices_;
  std::vector<Message> problems_;
};

}  // namespace gantry::cli
