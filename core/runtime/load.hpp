// SPDX-License-Identifier: Apache-2.0
//
// Loads a file and links its module graph.
//
//     map -> kind -> symbols -> container -> plugin of each type key (all, before any is opened)
//         -> plugins -> the artifact's library -> payloads to their loaders -> imports -> module 0
//
// A payload whose length only its plugin can determine is loaded while the container is read.
#pragma once

#include <gantry/runtime.hpp>
#include "core/module/module.hpp"

#include <string>

namespace gantry {

// See Runtime::load. Runs no code of the file until a plugin is found for each of its type keys.
Result<Ref<ModuleNode>> load_file(RuntimeState& state, const std::string& path,
                                  const LoadOptions& options);

}  // namespace gantry
