// SPDX-License-Identifier: Apache-2.0
//
// acme.quasar - a simulated accelerator with memory of its own and two command queues.
#include "plugin.hpp"

namespace quasar {
namespace {

// Of the type in the manifest's config_schema.
std::int64_t number(gantry::Host host, std::string_view key) {
  const auto value = host.option(key);
  return value ? gantry::value_int(*value).value_or(0) : 0;
}

}  // namespace

gantry::Result<std::unique_ptr<Plugin>> Plugin::create(gantry::Host host) {
  std::unique_ptr<Plugin> plugin(new Plugin(host));
  GANTRY_TRY(plugin->type_, host.device_type(Device::identity.name));
  const auto memory_bytes = static_cast<std::uint64_t>(number(host, "memory_mib")) << 20;
  const auto count = static_cast<std::int32_t>(number(host, "devices"));
  for (std::int32_t i = 0; i < count; ++i)
    plugin->devices_.push_back(std::make_unique<Device>(*plugin, i, memory_bytes));
  return plugin;
}

gantry::Result<Device*> Plugin::device(std::int32_t index) const {
  if (index >= 0 && index < device_count()) return devices_[static_cast<std::size_t>(index)].get();
  return gantry::no_such_device(Device::identity.name, index, device_count());
}

}  // namespace quasar

GANTRY_PLUGIN(quasar::Plugin);
