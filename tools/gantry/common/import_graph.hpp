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

#include "tools/gantry/common/text_sink.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace gantry::cli {

// Modules by index, asked for when they are written. Node 0 is the root.
struct ImportGraph {
  std::size_t size = 0;
  // from the file, not yet escaped
  std::function<std::string_view(std::size_t node)> name;
  // Every one < size; may hold anything else, loops included.
  std::function<std::span<const std::uint64_t>(std::size_t node)> imports;
};

// sink     gets whole lines, one each time
void write_import_text(const ImportGraph& graph, const TextSink& sink);
void write_import_dot(const ImportGraph& graph, const TextSink& sink);
void write_import_mermaid(const ImportGraph& graph, const TextSink& sink);

}  // namespace gantry::cli
