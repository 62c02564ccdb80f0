// SPDX-License-Identifier: Apache-2.0
//
// gantry.opencl - kernels that a compiler exported for OpenCL, and the devices of OpenCL drivers.
#include "device.hpp"
#include "module.hpp"

#include <gantry/plugin.h>
#include <gantry/abi_boundary.hpp>

#ifndef GANTRY_OPENCL_VERSION
#error "GANTRY_OPENCL_VERSION comes from the build: it must equal the manifest's"
#endif

namespace {

gantry_code create(const gantry_host* host, void** self, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    *self = new gantry::opencl::Plugin(host);
    return {};
  });
}

void destroy(void* self) { delete static_cast<gantry::opencl::Plugin*>(self); }

const gantry_loader_table* const loaders[] = {&gantry::opencl::loader_table};
const gantry_device_table* const devices[] = {&gantry::opencl::device_table};

constexpr gantry_plugin_table plugin = {
    .struct_size = sizeof(gantry_plugin_table),
    .flags = 0,
    .abi = GANTRY_PLUGIN_ABI,
    .id = "gantry.opencl",
    .version = GANTRY_OPENCL_VERSION,
    .vendor = "gantry",
    .display_name = "OpenCL",
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
