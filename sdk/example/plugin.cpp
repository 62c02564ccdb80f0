// SPDX-License-Identifier: Apache-2.0
//
// example.abacus - an accelerator that nobody has built, for everybody who has built one.
#include "device.hpp"
#include "module.hpp"

#include <gantry/plugin.h>
#include <gantry/abi_boundary.hpp>

#ifndef ABACUS_VERSION
#error "ABACUS_VERSION comes from the build: it must equal the manifest's"
#endif

namespace {

gantry_code create(const gantry_host* host, void** self, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_TRY(std::unique_ptr<abacus::Plugin> plugin, abacus::Plugin::create(host));
    *self = plugin.release();
    return {};
  });
}

void destroy(void* self) { delete static_cast<abacus::Plugin*>(self); }

const gantry_loader_table* const loaders[] = {&abacus::loader};
const gantry_device_table* const devices[] = {&abacus::device_table};

constexpr gantry_plugin_table plugin = {
    .struct_size = sizeof(gantry_plugin_table),
    .flags = 0,
    .abi = GANTRY_PLUGIN_ABI,
    .id = "example.abacus",
    .version = ABACUS_VERSION,
    .vendor = "Example",
    .display_name = "abacus",
    .license = "Apache-2.0",
    .loaders = loaders,
    .devices = devices,
    .loader_count = 1,
    .device_count = 1,
    .create = create,
    .destroy = destroy,
    .get_extension = nullptr,
};

}  // namespace

extern "C" const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info*,
                                                             gantry_status*) {
  return &plugin;
}
