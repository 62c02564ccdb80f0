// SPDX-License-Identifier: Apache-2.0
//
// Writes a drawing for Graphviz: all nodes, a cluster for each flow, nothing folded.
#pragma once

#include "tools/gantry/common/text_sink.hpp"
#include "tools/gantry/draw/flow.hpp"

namespace gantry::cli {

void write_dot(const Drawing& drawing, const TextSink& sink);

}  // namespace gantry::cli
