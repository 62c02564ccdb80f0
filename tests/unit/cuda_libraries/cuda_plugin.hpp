// SPDX-License-Identifier: Apache-2.0
//
// The plugin gantry.cuda of this build, opened as a host opens it. GANTRY_CUDA_PLUGIN names its library.
#pragma once

#include <gantry/plugin.h>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace gantry::cuda_libraries::test {

// Aborts the program if the plugin cannot be opened.
inline const gantry_plugin_table& cuda_plugin() {
  static const gantry_plugin_table* const table = [] {
    void* const library = dlopen(GANTRY_CUDA_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      (void)std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    const auto query = reinterpret_cast<decltype(&gantry_plugin_query_v1)>(
        dlsym(library, "gantry_plugin_query_v1"));
    gantry_host_info info{};
    info.struct_size = sizeof info;
    info.abi = {GANTRY_ABI_MAJOR, 0, GANTRY_ABI_MINOR, 0};
    return query(&info, nullptr);
  }();
  return *table;
}

}  // namespace gantry::cuda_libraries::test
