// SPDX-License-Identifier: Apache-2.0
//
// Who imports whom, as text, Graphviz or Mermaid. Output and time grow with modules + edges in every
// form, whatever the shape: a shared module is printed once and referred to, and what lies deeper
// than a screen is wide is continued below, at the margin.
//
//     [0] GraphExecutorFactory
//     `- [1] _lib
//        |- [2] opencl
//        `- [3] cuda
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gantry::cli {

struct ImportNode {
  std::string name;  // from the file, not yet escaped
  std::vector<std::size_t> imports;
};

// nodes    node 0 is the root; every import < nodes.size(); may hold anything else, loops included
// returns  lines, each ended by a line break
std::string import_text(const std::vector<ImportNode>& nodes);
std::string import_dot(const std::vector<ImportNode>& nodes);
std::string import_mermaid(const std::vector<ImportNode>& nodes);

}  // namespace gantry::cli
