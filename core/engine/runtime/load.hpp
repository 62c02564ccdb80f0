// SPDX-License-Identifier: Apache-2.0
//
// Loads a file and links its module graph.
//
//     map -> kind -> symbols -> container -> plugin of each type key (all, before any is opened)
//         -> plugins -> payloads of executors and others to their loaders -> imports
//         -> which missing kernels are left out -> the artifact's library -> kernels to their loaders
//         -> module 0
//
// A payload whose length only its plugin can determine is loaded while the container is read.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/runtime/options.hpp"
#include "core/formats/exporter_facts.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

// gantry/linked_symbols.h
struct gantry_linked_symbols;

namespace gantry {

struct RuntimeState;

// Loads an artifact: its own library, and each of its modules with the plugin that serves its type
// key. Loading a file again returns the same module while its root is alive. Runs no code of the file
// until a plugin is found for each of its type keys, except for kernels of devices that its model
// states not to use: these are left out with a warning.
//
// path     [in]   recognized by its content: a shared library; an object, or an ar or tar archive of
//                 objects and C sources, which the system's compiler links into the user's cache
//                 directory; a Model Library Format archive, whose module has a function for each of
//                 several models; a container without its library, whose CPU code is missing; a
//                 parameter file or a graph with the others beside it, as for load_graph_files()
// returns  malformed, unsupported  the file
//          unavailable, reason COMPILER_MISSING; invalid, reason COMPILE_FAILED
//          unavailable, reason NO_PLUGIN  lists all type keys without a usable plugin, what was
//                       searched and what would serve them
//          the error of a plugin
// costs    dlopen plus microseconds; payloads are not copied. Seconds when a file is linked first
Result<Ref<ModuleNode>> load_file(RuntimeState& state, const std::string& path,
                                  const LoadPermissions& options);

// Returns the name of an artifact in memory for messages. It has no directory, so that it is not taken
// for a path.
//
// name     [in]   "dir/model.so"; empty: none is known
std::string memory_title(std::string_view name);

// Loads an artifact that is in memory. Each call returns another module with its own variables.
//
// bytes    [in]   as the file of load_file(), no parameters or graph; copied once, into sealed memory
// name     [in]   see memory_title()
// returns  as load_file(); exhausted; unavailable: the system permits no files in memory
Result<Ref<ModuleNode>> load_memory(RuntimeState& state, std::span<const std::uint8_t> bytes,
                                    std::string_view name, const LoadPermissions& options);

// Loads code that is linked into the program. The same module is returned while it is alive.
//
// symbols  [in]   valid as long as the runtime
// prefix   [in]   of the system library
// returns  not_found: no symbol is registered; invalid, reason LINKED_TWICE: the code belongs to a
//          module of another runtime, or to one that has ended; else as load_file()
Result<Ref<ModuleNode>> load_linked(RuntimeState& state, const gantry_linked_symbols& symbols,
                                    std::string_view prefix, const LoadPermissions& options);

// Loads an artifact whose container is not read yet.
//
// facts    [in]   of the container's exporter, if they are known otherwise; NULL: they follow from
//                 the artifact
Result<Ref<ModuleNode>> load_artifact(RuntimeState& state, std::shared_ptr<Artifact> artifact,
                                      const LoadPermissions& options,
                                      const ExporterFacts* facts = nullptr);

}  // namespace gantry
