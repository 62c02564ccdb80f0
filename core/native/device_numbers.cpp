// SPDX-License-Identifier: Apache-2.0
#include "core/native/device_numbers.hpp"

#include "core/format/type_key.hpp"
#include "core/module/module_graph.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
namespace {

struct Moved {
  // of the device and of its modules' type key
  std::string_view name;
  // up to v0.10, and since v0.11
  std::int32_t before, since;
};
constexpr Moved kMoved[] = {
    {"aocl", 5, 32}, {"sdaccel", 6, 33}, {"opengl", 11, 34}, {"hexagon", 14, 16}};

}  // namespace

void set_device_numbers(std::span<const Ref<ModuleNode>> nodes, DeviceNumbering numbering,
                        const DeviceSet& devices) {
  std::vector<std::pair<std::int32_t, std::int32_t>> numbers;
  for (const Moved& moved : kMoved) {
    const auto has_key = [&](const Ref<ModuleNode>& node) { return node->type_key == moved.name; };
    if (std::none_of(nodes.begin(), nodes.end(), has_key)) continue;
    const auto number = devices.number_of(moved.name);
    if (!number.ok()) continue;
    // to_artifact() takes the first.
    if (numbering == DeviceNumbering::since_v0_8) numbers.emplace_back(moved.since, *number);
    numbers.emplace_back(moved.before, *number);
  }
  for (const Ref<ModuleNode>& node : nodes) node->device_numbers = numbers;
}

std::uint64_t ext_dev_of(std::string_view kind, const DeviceSet& devices) {
  for (const Moved& moved : kMoved) {
    if (moved.name == kind) return 0;
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
  return unsupported(node.location, " reaches modules of ", names,
                     ": device type 12, ext_dev, in its code may be either; modules of each want "
                     "host code of their own, in one file or two")
      .with_reason("EXT_DEV");
}

Status add_ext_dev(ModuleNode& root, ModuleNode& node, std::uint64_t device, LookUpStart start,
                   const DeviceSet& devices) {
  if ((node.ext_devs & device) == device) return {};
  const std::vector<ModuleNode*> all = reachable(root);
  std::vector<ModuleNode*> reaching;
  const auto add = [&](ModuleNode& one) {
    reaching.push_back(&one);
    one.ext_devs |= device;
  };
  add(node);
  const auto reaches = [&](const ModuleNode& one) {
    if (start == LookUpStart::root && one.type_key == library_key) return true;
    for (const Ref<ModuleNode>& import : one.imports) {
      if ((import->ext_devs & device) != 0) return true;
    }
    return false;
  };
  // Most importers precede their imports in `all`, so that a second round rarely finds more.
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
