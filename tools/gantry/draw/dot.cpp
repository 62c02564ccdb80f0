// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/dot.hpp"

#include "tools/gantry/common/human.hpp"
#include "tools/gantry/draw/svg.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace gantry::cli {
namespace {

// A text of a flow, which has no control characters, within quotation marks.
std::string label_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string_view shape_of(FlowNode::Kind kind) {
  switch (kind) {
    case FlowNode::Kind::input:
    case FlowNode::Kind::output:
    case FlowNode::Kind::block:
      return ", shape=ellipse";
    case FlowNode::Kind::choice:
      return ", shape=diamond";
    case FlowNode::Kind::light:
      return ", style=dashed";
    default:
      return {};
  }
}

// White to red, of Graphviz's own scale.
std::string colour_of(double share, double max_share) {
  if (share < 0 || max_share <= 0) return {};
  const int level = 1 + static_cast<int>(std::clamp(share / max_share, 0.0, 1.0) * 8);
  return concat(", style=filled, colorscheme=orrd9, fillcolor=", level,
                level >= 7 ? ", fontcolor=white" : "");
}

}  // namespace

void write_dot(const Drawing& drawing, const TextSink& sink) {
  double max_share = -1;
  for (const Flow& flow : drawing.flows) {
    for (const FlowNode& node : flow.nodes) max_share = std::max(max_share, node.share);
  }
  sink(concat("digraph \"", label_text(drawing.title),
              "\" {\n  node [shape=box, fontname=monospace];\n"));
  for (std::size_t f = 0; f < drawing.flows.size(); ++f) {
    const Flow& flow = drawing.flows[f];
    sink(concat("  subgraph cluster_", f, " {\n    label=\"", label_text(flow.title), "\";\n"));
    for (std::size_t n = 0; n < flow.nodes.size(); ++n) {
      const FlowNode& node = flow.nodes[n];
      std::string label = label_text(node.title);
      for (const std::string& line : node.lines) append(label, {"\\n", label_text(line)});
      if (node.share >= 0)
        append(label, {"\\n", share_text(node.share), ", ", human_time(node.ns)});
      sink(concat("    f", f, "n", n, " [label=\"", label, "\"", shape_of(node.kind),
                  colour_of(node.share, max_share), "];\n"));
    }
    for (const FlowEdge& edge : flow.edges) {
      std::string attributes;
      if (edge.is_control) attributes = "style=dashed";
      if (!edge.label.empty())
        append(attributes,
               {attributes.empty() ? "" : ", ", "label=\"", label_text(edge.label), "\""});
      sink(concat("    f", f, "n", edge.from, " -> f", f, "n", edge.to,
                  attributes.empty() ? "" : concat(" [", attributes, "]"), ";\n"));
    }
    sink("  }\n");
  }
  sink("}\n");
}

}  // namespace gantry::cli
