// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/target_devices.hpp"

#include "tools/gantry/driver_guard.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry::cli {

Result<std::vector<DeviceInfo>> TargetDevices::all() {
  if (!devices_) {
    GANTRY_TRY(problems_, exclude_failing_drivers(InstalledPlugins(runtime_), globals_, limit_));
    devices_ = runtime_.devices(problems_);
  }
  return *devices_;
}

DeviceAttributes TargetDevices::attributes() {
  return [this](std::string_view device, std::int64_t index,
                std::string_view attribute) -> Result<std::optional<std::string>> {
    GANTRY_TRY(const std::vector<DeviceInfo> devices, all());
    const auto found = std::ranges::find_if(devices, [&](const DeviceInfo& info) {
      return info.name == device && info.index == index;
    });
    if (found == devices.end()) {
      const auto count = std::ranges::count(devices, device, &DeviceInfo::name);
      Error error =
          not_found("device ", device, ':', index, " of from_device is not there; this host has ",
                    count, count == 1 ? " device " : " devices ", quoted(device));
      for (const Message& problem : problems_) error.at(problem);
      return error;
    }
    const auto value = std::ranges::find(found->attributes, attribute,
                                         &std::pair<std::string, std::string>::first);
    if (value == found->attributes.end()) return std::optional<std::string>();
    return std::optional<std::string>(value->second);
  };
}

}  // namespace gantry::cli
