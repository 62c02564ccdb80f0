// SPDX-License-Identifier: Apache-2.0
#include "core/host/device_numbers.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
namespace {

struct Moved {
  std::string_view name;       // of the device, and of its modules' type key
  std::int32_t before, since;  // v0.11
};
constexpr Moved kMoved[] = {
    {"aocl", 5, 32}, {"sdaccel", 6, 33}, {"opengl", 11, 34}, {"hexagon", 14, 16}};

constexpr std::int32_t kExtDev = 12;  // DLPack's

}  // namespace

void set_device_numbers(std::span<const Ref<ModuleNode>> nodes, bool up_to_v0_7,
                        std::span<const std::string_view> kinds, const DeviceSet& devices) {
  std::vector<std::pair<std::int32_t, std::int32_t>> numbers;
  for (const Moved& moved : kMoved) {
    const auto has_key = [&](const Ref<ModuleNode>& node) { return node->type_key == moved.name; };
    if (std::none_of(nodes.begin(), nodes.end(), has_key)) continue;
    const auto number = devices.number_of(moved.name);
    if (!number.ok()) continue;
    // to_artifact() takes the first.
    if (!up_to_v0_7) numbers.emplace_back(moved.since, *number);
    numbers.emplace_back(moved.before, *number);
  }
  for (const std::string_view kind : kinds) {
    const bool moved = std::any_of(std::begin(kMoved), std::end(kMoved),
                                   [&](const Moved& known) { return known.name == kind; });
    const auto number = devices.number_of(kind);
    if (moved || !number.ok() || *number < kFirstAssignedType) continue;
    numbers.emplace_back(kExtDev, *number);
    break;
  }
  for (const Ref<ModuleNode>& node : nodes) node->device_numbers = numbers;
}

}  // namespace gantry
