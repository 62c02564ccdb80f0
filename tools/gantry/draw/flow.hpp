// SPDX-License-Identifier: Apache-2.0
//
// What `inspect --draw` draws: for each graph or function of a file, its operators and the tensors between
// them. Nothing of the file is executed.
//
//     file's bytes -> Drawing (flow.hpp) -> times of a profile (profile.hpp) -> sheets (sheet.hpp)
//         -> positions (layout.hpp) -> SVG (svg.hpp) -> HTML (page.hpp)
//     Drawing -> dot (dot.hpp)
//
// Files are hostile: the number of functions, nodes and edges is limited, and texts are escaped and cut when a
// flow is made, so that they have no control characters. A writer escapes them for its format.
#pragma once

#include "core/formats/inspect/report.hpp"
#include "core/formats/inspect/signatures.hpp"

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gantry::cli {

struct Flow;

struct FlowLimits {
  // graphs and functions of one file
  std::size_t flows = 256;
  // of one flow
  std::size_t nodes = 5000, edges = 20000;
  // of all flows
  std::size_t all_nodes = 20000;

  // Subtracts a flow that was made; the next one has at most the nodes that are left.
  void use(const Flow& flow);
};

struct FlowNode {
  enum class Kind : std::uint8_t {
    input,
    output,
    // a call of a kernel or another function
    call,
    // moves or renames a tensor: a copy, a reshape
    light,
    // selects the next block
    choice,
    // the beginning of a block of instructions, where control arrives
    block,
    // Of sheets: several nodes, and a node of another sheet.
    fold,
    port,
  };
  Kind kind = Kind::call;
  // the text that is shown first
  std::string title;
  // types of its results, a device
  std::vector<std::string> lines;
  // the name in the file, up to 256 characters: of the function, of the node of a graph
  std::string name;
  // by which a profile names it; empty: it is not timed
  std::string timed;

  // Of all runs' time; negative: no profile, or none of this node. A name that is called in several places
  // has the same time in each.
  double share = -1;
  double ns = 0;
  // nodes that have this name
  std::size_t places = 1;
  // fold, port: the sheet that shows more
  std::size_t sheet = SIZE_MAX;
  // port: index of the node there
  std::size_t there = SIZE_MAX;
  // fold: number of nodes
  std::size_t count = 0;
};

// An edge goes to a later node, except for loops.
struct FlowEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  // of instructions, not of a tensor
  bool is_control = false;
  std::string label = {};
};

// One graph or function. Nodes are in the order in which they run.
struct Flow {
  // "main", "GraphExecutorFactory"
  std::string title;
  // by which a profile names the function itself; empty: it is not timed
  std::string timed;
  // of the function without its calls; as those of a node
  double share = -1;
  double ns = 0;
  std::vector<FlowNode> nodes;
  std::vector<FlowEdge> edges;
  // what is not drawn, as sentences without a full stop
  std::vector<std::string> notes;
};

struct Drawing {
  // of the file, as given
  std::string title;
  std::vector<Flow> flows;
  std::vector<std::string> notes;
  // The share of the time of a profile whose names no node has; negative: no profile.
  double other_share = -1;
};

// Makes the drawing of a file.
//
// returns  invalid  there is no graph and no code of a virtual machine; of one graph or code, malformed and
//                   unsupported
// costs    O(payloads log payloads)
Result<Drawing> drawing_of(const InspectReport& report, const FlowLimits& limits = {});

// Adds nodes and edges to a flow up to its limits.
class FlowBuilder {
 public:
  FlowBuilder(std::string_view title, const FlowLimits& limits);

  // returns  index; `none` if the limit is reached
  static constexpr std::uint32_t none = UINT32_MAX;
  std::uint32_t add(FlowNode node);
  // Adds an edge unless there is one between the nodes, or one of them is `none` or both are one node.
  void connect(std::uint32_t from, std::uint32_t to, bool is_control = false,
               std::string_view label = {});
  FlowNode& node(std::uint32_t index) { return flow_.nodes[index]; }
  void set_timed(std::string name) { flow_.timed = std::move(name); }
  std::size_t size() const { return flow_.nodes.size(); }
  void note(std::string text) { flow_.notes.push_back(std::move(text)); }

  // Adds a note of what exceeded the limits.
  Flow finish() &&;

 private:
  const FlowLimits& limits_;
  Flow flow_;
  // from << 32 | to
  std::unordered_set<std::uint64_t> connected_;
  std::size_t dropped_nodes_ = 0, dropped_edges_ = 0;
};

// Makes a text of a file printable: escaped, at most `max` characters, then "...".
std::string shown_text(std::string_view bytes, std::size_t max = 256);
// Without the beginning that all names of TVM have, "tvmgen_default_", "vm_mod_" and "vm.builtin.", and at most 40
// characters.
std::string short_name(std::string_view bytes);

// The flows of a payload.
//
// module, signature  [in]  index, of the whole file
// returns   malformed, unsupported
Result<Flow> graph_flow(const Entry& entry, const FlowLimits& limits);
Result<Flow> subgraph_flow(const Entry& entry, const FlowLimits& limits);
Result<std::vector<Flow>> relax_flows(const Entry& entry, std::size_t module,
                                      const ExporterFacts& facts, const StatedSignature& signature,
                                      const FlowLimits& limits);
Result<std::vector<Flow>> relay_flows(const Entry& entry, const FlowLimits& limits);

}  // namespace gantry::cli
