// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/tested_device.hpp"

#include <random>

namespace gantry::kit {

std::vector<std::uint8_t> bytes_with_pattern(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

Status for_each_device(Subject& subject, const std::function<Status(const TestedDevice&)>& check) {
  if (subject.manifest().devices.empty()) return skipped("the plugin has no device");
  GANTRY_TRY(const auto stage, Stage::open(subject));
  bool any = false;
  for (const gantry_device_table& table : stage->plugin().devices) {
    const auto device = stage->state().device(table.name);
    if (!device.ok()) continue;
    std::int32_t count = 0;
    {
      const PluginCall record("count");
      if ((*device)->table->count((*device)->self, &count, nullptr) != GANTRY_OK) continue;
    }
    if (count < 0) return not_run("device ", table.name, " counts ", count, ", see case 73");
    if (count == 0) continue;
    any = true;
    GANTRY_CHECK(check(TestedDevice(**device, count)));
  }
  return any ? Status() : not_run("no device of the plugin is on this host");
}

}  // namespace gantry::kit
