// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/flow.hpp"

#include "core/formats/type_key.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

// What "..." replaces is not escaped: a name may be as long as its file.
constexpr std::size_t max_title_characters = 40;

// Returns the flows of a module; nothing if there are none in its payload.
Result<std::vector<Flow>> flows_of(const InspectReport& report, std::size_t module,
                                   const StatedSignature& signature, const FlowLimits& limits) {
  const Entry& entry = report.container.entries[module];
  std::vector<Flow> flows;
  switch (content_of(entry.type_key)) {
    case PayloadContent::graph: {
      GANTRY_TRY(Flow flow, graph_flow(entry, limits));
      flows.push_back(std::move(flow));
      return flows;
    }
    case PayloadContent::relax_code:
      return relax_flows(entry, module, report.container.facts, signature, limits);
    case PayloadContent::relay_code:
      return relay_flows(entry, limits);
    default:
      break;
  }
  WarningList ignored;
  if (details_of(report, module, ignored).find("nodes") != nullptr) {
    GANTRY_TRY(Flow flow, subgraph_flow(entry, limits));
    flows.push_back(std::move(flow));
  }
  return flows;
}

}  // namespace

void FlowLimits::use(const Flow& flow) {
  all_nodes -= std::min(all_nodes, flow.nodes.size());
  nodes = std::min(nodes, all_nodes);
}

std::string shown_text(std::string_view bytes, std::size_t max) {
  const std::string_view shown = first_characters(bytes, max);
  std::string text;
  append_escaped(text, shown);
  return shown.size() == bytes.size() ? text : text + "...";
}

std::string short_name(std::string_view bytes) {
  for (const std::string_view beginning : {"tvmgen_default_", "vm_mod_", "vm.builtin."}) {
    if (bytes.starts_with(beginning) && bytes.size() > beginning.size())
      bytes.remove_prefix(beginning.size());
  }
  return shown_text(bytes, max_title_characters);
}

FlowBuilder::FlowBuilder(std::string_view title, const FlowLimits& limits) : limits_(limits) {
  flow_.title = shown_text(title, max_title_characters);
}

std::uint32_t FlowBuilder::add(FlowNode node) {
  if (flow_.nodes.size() >= limits_.nodes) {
    ++dropped_nodes_;
    return none;
  }
  flow_.nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(flow_.nodes.size() - 1);
}

void FlowBuilder::connect(std::uint32_t from, std::uint32_t to, bool is_control,
                          std::string_view label) {
  if (from == none || to == none || from == to) return;
  const std::uint64_t both = std::uint64_t{from} << 32 | to;
  if (connected_.contains(both)) return;
  if (flow_.edges.size() >= limits_.edges) {
    ++dropped_edges_;
    return;
  }
  connected_.insert(both);
  flow_.edges.push_back({from, to, is_control, std::string(label)});
}

Flow FlowBuilder::finish() && {
  if (dropped_nodes_ != 0) {
    note(concat("the first ", limits_.nodes, " nodes are drawn, ", dropped_nodes_,
                " more are left out"));
  }
  if (dropped_edges_ != 0) {
    note(concat("the first ", limits_.edges, " edges are drawn, ", dropped_edges_,
                " more are left out"));
  }
  return std::move(flow_);
}

Result<Drawing> drawing_of(const InspectReport& report, const FlowLimits& limits) {
  Drawing drawing{.title = shown_text(report.file)};
  WarningList ignored;
  const StatedSignature signature = signature_of(report, ignored);
  FlowLimits left = limits;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < report.container.entries.size(); ++i) {
    if (drawing.flows.size() == limits.flows || left.nodes == 0) {
      ++left_out;
      continue;
    }
    auto flows = flows_of(report, i, signature, left);
    if (!flows.ok()) {
      return std::move(flows).error().at("while drawing module ", i, " ",
                                         quoted(report.container.entries[i].type_key));
    }
    for (Flow& flow : *flows) {
      if (drawing.flows.size() == limits.flows) {
        ++left_out;
        continue;
      }
      left.use(flow);
      drawing.flows.push_back(std::move(flow));
    }
  }
  if (drawing.flows.empty()) {
    return invalid(quoted(report.file), " is ", words_for(report.kind),
                   " without a graph and without code of a virtual machine that can be drawn");
  }
  if (left_out != 0)
    drawing.notes.push_back(concat(left_out, " further modules or functions are left out"));
  return drawing;
}

}  // namespace gantry::cli
