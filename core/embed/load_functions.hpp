// SPDX-License-Identifier: Apache-2.0
//
// Functions of the table of gantry/embed.h that load files and plugins. None of them throws.
#pragma once

#include <gantry/embed.h>

#include <cstdint>

namespace gantry::load_functions {

gantry_code load_file(gantry_object* object, gantry_bytes path, const gantry_load_options* options,
                      gantry_object** module, gantry_status* status);
gantry_code tensors_read(gantry_object* object, gantry_bytes path, gantry_value* tensors,
                         gantry_status* status);
gantry_code load_memory(gantry_object* object, const void* data, std::uint64_t size,
                        gantry_bytes name, const gantry_load_options* options,
                        gantry_object** module, gantry_status* status);
gantry_code load_reader(gantry_object* object, const gantry_reader* reader, gantry_bytes name,
                        const gantry_load_options* options, gantry_object** module,
                        gantry_status* status);
gantry_code plugin_add(gantry_object* object,
                       const gantry_plugin_table* (*query)(const gantry_host_info*, gantry_status*),
                       gantry_status* status);
gantry_code module_bind_missing(gantry_object* module, gantry_status* status);
gantry_code load_graph(gantry_object* object, gantry_bytes library, gantry_bytes graph,
                       gantry_bytes params, const gantry_load_options* options,
                       gantry_object** module, gantry_status* status);
gantry_code load_linked(gantry_object* object, const gantry_linked_symbols* symbols,
                        gantry_bytes prefix, const gantry_load_options* options,
                        gantry_object** module, gantry_status* status);
gantry_code inspect(gantry_object* object, gantry_bytes path, gantry_value* tree,
                    gantry_status* status);

}  // namespace gantry::load_functions
