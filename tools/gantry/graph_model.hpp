// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/gantry/model.hpp"

namespace gantry::cli {

// Creates an executor of the graph in a file, see factory_name().
Result<std::unique_ptr<Model>> make_graph_model(Runtime& runtime, const Module& module,
                                                const ModelOptions& options);

}  // namespace gantry::cli
