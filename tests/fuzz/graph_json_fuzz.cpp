// SPDX-License-Identifier: Apache-2.0
//
// Graph JSON: read, proved, and its memory planned; and the plugin's reader against that of core/pack, which looks into
// the graphs that it packs.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/pack/graph_wants.hpp"
#include "plugins/graph/storage_plan.hpp"

#include <algorithm>
#include <set>
#include <string>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// What executors read can be packed, and is the same to both.
void compare(const graph::Graph& graph, std::string_view text) {
  const auto wants = read_graph_wants(text);
  if (!wants.ok()) expect(false, "pack refuses what the plugin reads: " + wants.error().message);
  expect(wants->arguments.size() == graph.inputs.size(), "as many arguments as inputs");
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    const GraphTensor& argument = wants->arguments[i];
    const graph::Entry& entry = graph.entries[graph.input_entry(i)];
    expect(argument.name == graph.input(i).name, "an input has one name");
    expect(same_type(argument.type, {entry.dtype, entry.shape}), "an input has one type");
  }
  std::set<std::string> functions;
  for (const graph::Node& node : graph.nodes) {
    if (node.kind == graph::OpKind::call) functions.insert(node.function);
  }
  expect(std::ranges::equal(functions, wants->functions), "both call the same functions");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A node of 60 characters is 250 bytes of JsonNode and 120 of Node; a shape of "[1]," a vector of its own.
  const Budget budget(size, {.bytes_per_input_byte = 64});
  const auto graph = graph::read_graph(text_of(data, size), 0);
  if (!graph.ok()) return expect_refusal(graph.error(), size);

  compare(*graph, text_of(data, size));
  for (const graph::Node& node : graph->nodes) {
    expect(node.first_entry + node.output_count <= graph->entries.size(), "outputs are entries");
    for (const std::uint32_t input : node.inputs) {
      expect(input < graph->entries.size(), "inputs are entries");
    }
  }
  for (const graph::Output& head : graph->heads) {
    expect(head.entry < graph->entries.size(), "heads are entries");
  }
  for (const std::uint32_t input : graph->inputs) {
    expect(input < graph->nodes.size(), "inputs are nodes");
  }
  const std::vector<gantry_device_id> devices(graph->entries.size(), {1, 0});
  const auto plan = graph::plan_storage(*graph, devices);
  if (!plan.ok()) return expect_refusal(plan.error(), no_offset);
  expect(plan->value_of.size() == graph->entries.size(), "every entry has a value");
  for (std::uint32_t i = 0; i < graph->entries.size(); ++i) {
    expect(plan->slot_of(i).bytes >= graph->entries[i].bytes, "a slot holds each of its entries");
  }
  return 0;
}
