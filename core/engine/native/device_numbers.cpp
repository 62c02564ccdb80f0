// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/device_numbers.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/formats/type_key.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
namespace {

struct RenumberedDevice {
  // of the device and of its modules' type key
  std::string_view name;
  // up to v0.10, and since v0.11
  std::int32_t before, since;
};
constexpr RenumberedDevice kRenumbered[] = {
    {"aocl", 5, 32}, {"sdaccel", 6, 33}, {"opengl", 11, 34}, {"hexagon", 14, 16}};

}  // namespace

std::vector<std::pair<std::int32_t, std::int32_t>> converted_device_numbers(
    const Container& container, const DeviceSet& devices) {
  std::vector<std::pair<std::int32_t, std::int32_t>> numbers;
  for (const RenumberedDevice& each : kRenumbered) {
    const auto has_key = [&](const Entry& entry) { return entry.type_key == each.name; };
    if (std::none_of(container.entries.begin(), container.entries.end(), has_key)) continue;
    const auto number = devices.number_of(each.name);
    if (!number.ok()) continue;
    // The newer number comes first: to_artifact() returns the first match.
    if (!generation_facts(container.facts.generation).has_old_device_numbers)
      numbers.emplace_back(each.since, *number);
    numbers.emplace_back(each.before, *number);
  }
  return numbers;
}

std::uint64_t ext_dev_bit(std::int32_t type) {
  if (type == kExtDev) return kExtDevItself;
  return type >= kFirstAssignedType && type < kDeviceTypeCount - 1
             ? std::uint64_t{1} << (type - kFirstAssignedType)
             : 0;
}

std::int32_t to_runtime(const ModuleNode& node, std::int32_t number) {
  for (const auto& [artifact, runtime] : node.artifact->device_numbers) {
    if (artifact == number) return runtime;
  }
  const std::uint64_t ext = node.ext_devs.load(std::memory_order_relaxed);
  if (number == kExtDev && std::has_single_bit(ext) && ext != kExtDevItself)
    return kFirstAssignedType + std::countr_zero(ext);
  return number;
}

std::int32_t to_artifact(const ModuleNode& node, std::int32_t type) {
  for (const auto& [artifact, runtime] : node.artifact->device_numbers) {
    if (runtime == type) return artifact;
  }
  const std::uint64_t ext = node.ext_devs.load(std::memory_order_relaxed);
  return (ext & ext_dev_bit(type)) != 0 ? kExtDev : type;
}

std::uint64_t ext_dev_of(std::string_view kind, const DeviceSet& devices) {
  for (const RenumberedDevice& each : kRenumbered) {
    if (each.name == kind) return 0;
  }
  const auto number = devices.number_of(kind);
  return number.ok() ? ext_dev_bit(*number) : 0;
}

Status check_ext_dev(const ModuleNode& node, std::uint64_t ext_devs, const DeviceSet& devices) {
  if (std::popcount(ext_devs) < 2) return {};
  std::string names;
  for (const auto& device : devices.all()) {
    if ((ext_devs & ext_dev_bit(device->type)) != 0)
      names.append(names.empty() ? "" : " and ").append(described(*device));
  }
  return unsupported(location_of(node), " reaches modules of ", names,
                     ": device type 12, ext_dev, in its code is ambiguous; compile separate CPU "
                     "code for the modules of each device")
      .with_reason("EXT_DEV");
}

Status add_ext_dev(ModuleNode& root, ModuleNode& node, std::uint64_t device,
                   const DeviceSet& devices) {
  if ((node.ext_devs & device) == device) return {};
  const bool from_root =
      generation_facts(root.artifact->container.facts.generation).searches_from_root;
  const std::vector<ModuleNode*> all = reachable(root);
  std::vector<ModuleNode*> reaching;
  const auto add = [&](ModuleNode& one) {
    reaching.push_back(&one);
    one.ext_devs |= device;
  };
  add(node);
  const auto reaches = [&](const ModuleNode& one) {
    if (from_root && one.type_key == library_key) return true;
    for (const Ref<ModuleNode>& import : one.imports) {
      if ((import->ext_devs & device) != 0) return true;
    }
    return false;
  };
  // Most importers precede their imports in `all`, so a second iteration rarely finds more.
  for (std::size_t before = 0; before != reaching.size();) {
    before = reaching.size();
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      if (((*at)->ext_devs & device) == 0 && reaches(**at)) add(**at);
    }
  }
  for (const ModuleNode* at : reaching) {
    Status clear =
        at->type_key == library_key ? check_ext_dev(*at, at->ext_devs, devices) : Status();
    if (clear.ok()) continue;
    for (ModuleNode* one : reaching) one->ext_devs &= ~device;
    return clear;
  }
  return {};
}

}  // namespace gantry
