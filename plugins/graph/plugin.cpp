// SPDX-License-Identifier: Apache-2.0
//
// gantry.graph - the graph executor: runs models whose operators a compiler listed in an order.
//
// Holds no state of its own: an instance is the host that lent itself.
#include "factory.hpp"

#include <gantry/plugin.h>

#ifndef GANTRY_GRAPH_VERSION
#error "GANTRY_GRAPH_VERSION comes from the build: it must equal the manifest's"
#endif

namespace {

gantry_code create(const gantry_host* host, void** self, gantry_status*) {
  *self = const_cast<gantry_host*>(host);
  return GANTRY_OK;
}

void destroy(void*) {}

const gantry_loader_table* const loaders[] = {&gantry::graph::factory_loader};

constexpr gantry_plugin_table plugin = {
    .struct_size = sizeof(gantry_plugin_table),
    .flags = 0,
    .abi = GANTRY_PLUGIN_ABI,
    .id = "gantry.graph",
    .version = GANTRY_GRAPH_VERSION,
    .vendor = "gantry",
    .display_name = "graph executor",
    .license = "Apache-2.0",
    .loaders = loaders,
    .devices = nullptr,
    .loader_count = 1,
    .device_count = 0,
    .create = create,
    .destroy = destroy,
    .get_extension = nullptr,
};

}  // namespace

extern "C" const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info*,
                                                             gantry_status*) {
  return &plugin;
}
