// SPDX-License-Identifier: Apache-2.0
//
// From a path to a linked module graph.
//
//     map -> symbols -> container -> who serves each key (all of them, before anything is opened)
//         -> plugins -> the artifact's library -> payloads to their loaders -> imports -> module 0
#pragma once

#include "core/module/module.hpp"
#include "core/runtime/runtime.hpp"

#include <string>

namespace gantry {

// See Runtime::load. Executes nothing of the file before every type key in it has somebody who serves it.
Result<Ref<ModuleNode>> load_file(RuntimeState& state, const std::string& path,
                                  const LoadOptions& options);

}  // namespace gantry
