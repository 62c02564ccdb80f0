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

}  // namespace

void set_device_numbers(std::span<const Ref<ModuleNode>> nodes, bool up_to_v0_7,
                        const DeviceSet& devices) {
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
  for (const Ref<ModuleNode>& node : nodes) node->device_numbers = numbers;
}

}  // namespace gantry
