// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/graph_json.hpp"
#include "core/formats/mlf/findings.hpp"
#include "core/formats/mlf/metadata.hpp"

#include <set>
#include <string>

namespace gantry {

// Compares the memory of the main function on each device with that of the graph. Differences are
// warnings. Compared is what has one definition; MLF.md lists where TVM counts in another way.
//
// parameters  [in]   names of the inputs that are parameters
// path        [in]   of the list: "metadata.json: memory.functions.main"
void check_main_memory(const MlfModel& model, const Graph& graph,
                       const std::set<std::string>& parameters, const std::string& path,
                       Findings& findings);

}  // namespace gantry
