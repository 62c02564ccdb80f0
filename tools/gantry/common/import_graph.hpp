// SPDX-License-Identifier: Apache-2.0
//
// Writes an import tree as text, Graphviz or Mermaid. Output and time are O(modules + edges) for
// every shape of the graph: the text prints a shared module once and refers to it, and continues
// deep branches below, at the margin.
//
//     [0] GraphExecutorFactory
//     `- [1] _lib
//        |- [2] opencl
//        `- [3] cuda
#pragma once

#include "tools/gantry/common/text_sink.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace gantry::cli {

// Modules by index; the functions are called while the graph is written. Node 0 is the root.
struct ImportGraph {
  std::size_t size = 0;
  // from the file, not yet escaped
  std::function<std::string_view(std::size_t node)> name;
  // Each index is < size. Loops are allowed.
  std::function<std::span<const std::uint64_t>(std::size_t node)> imports;
};

// sink     [in]   called once for each line
void write_import_text(const ImportGraph& graph, const TextSink& sink);
void write_import_dot(const ImportGraph& graph, const TextSink& sink);
void write_import_mermaid(const ImportGraph& graph, const TextSink& sink);

}  // namespace gantry::cli
