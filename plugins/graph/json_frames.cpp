// SPDX-License-Identifier: Apache-2.0
#include "json_frames.hpp"

#include <gantry/quoted.hpp>

namespace gantry::graph {
namespace {

template <std::size_t N>
int index_in(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

int known_key(const Frame& frame) {
  switch (frame.in) {
    case In::graph:
      return index_in(graph_key_names, frame.key);
    case In::node:
      return index_in(node_key_names, frame.key);
    case In::node_attrs:
      return index_in(node_attr_names, frame.key);
    case In::graph_attrs:
      return index_in(graph_attr_names, frame.key);
    default:
      return -1;
  }
}

std::string path_of(std::span<const Frame> frames) {
  std::string path;
  for (const Frame& frame : frames) {
    if (is_object(frame.in)) {
      if (frame.count == 0) continue;
      if (!path.empty()) path += '.';
      path += frame.key.size() <= 40 ? frame.key : frame.key.substr(0, 40) + "...";
    } else if (frame.in != In::skipped) {
      path += concat("[", frame.count == 0 ? 0 : frame.count - 1, "]");
    }
  }
  if (path.empty()) return "graph";
  // keys come from the file
  const std::string shown = quoted(path, 120);
  return shown.substr(1, shown.size() - 2);
}

std::string_view expected_in(In in) {
  switch (in) {
    case In::nodes:
      return "a node";
    case In::entries:
      return "a list of node and output";
    case In::entry:
    case In::numbers:
      return "a number, 0 or more";
    case In::integers:
    case In::shape:
      return "a whole number";
    case In::texts:
    case In::node_attrs:
      return "a string";
    case In::shapes:
      return "a list of extents";
    default:
      return "something else";
  }
}

}  // namespace gantry::graph
