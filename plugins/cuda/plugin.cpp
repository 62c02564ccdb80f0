// SPDX-License-Identifier: Apache-2.0
//
// gantry.cuda - NVIDIA's GPUs, and the kernels that compilers made for them.
//
// Opens no driver when it is created: payloads can be looked at on any machine.
#include "plugin.hpp"

#include <gantry/plugin.h>
#include <gantry/abi_boundary.hpp>

#ifndef GANTRY_CUDA_VERSION
#error "GANTRY_CUDA_VERSION comes from the build: it must equal the manifest's"
#endif

namespace {

using gantry::cuda::Plugin;

gantry_code create(const gantry_host* host, void** self, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    *self = new Plugin(host);
    return {};
  });
}

void destroy(void* self) { delete static_cast<Plugin*>(self); }

const gantry_loader_table* const loaders[] = {&gantry::cuda::loader_table};
const gantry_device_table* const devices[] = {&gantry::cuda::device_table};

constexpr gantry_plugin_table plugin = {
    .struct_size = sizeof(gantry_plugin_table),
    .flags = 0,
    .abi = GANTRY_PLUGIN_ABI,
    .id = "gantry.cuda",
    .version = GANTRY_CUDA_VERSION,
    .vendor = "gantry",
    .display_name = "CUDA kernels",
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
