// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/model_state.hpp"

#include "core/formats/container.hpp"
#include "core/formats/payload_layout.hpp"

#include <string>

namespace gantry {

// Returns the name of the factory function of a file's graph: "default" if the file has it or no other
// one, else the first.
std::string default_graph(const Container& container, const PayloadLayouts& layouts);

// Returns a model whose functions are the graphs of the file, by the names of their factory
// functions.
//
// returns  the error of looking "default" up, if the file has no graph
Result<std::shared_ptr<ModelState>> graph_model(const ModelSource& source);

}  // namespace gantry
