// SPDX-License-Identifier: Apache-2.0
//
// From a path to a linked module graph.
//
//     map -> symbols -> container -> plugin of each type key (all keys, before anything is opened)
//         -> plugins -> the artifact's library -> payloads to their loaders -> imports -> module 0
//
// A payload whose length only its plugin shows is loaded while the container is read.
#pragma once

#include <gantry/runtime.hpp>
#include "core/module/module.hpp"

#include <string>

namespace gantry {

// See Runtime::load. Executes nothing of the file before a plugin is found for every type key in
// it.
Result<Ref<ModuleNode>> load_file(RuntimeState& state, const std::string& path,
                                  const LoadOptions& options);

}  // namespace gantry
