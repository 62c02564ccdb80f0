// SPDX-License-Identifier: Apache-2.0
//
// Graph JSON: reads a graph and plans its memory.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "plugins/graph/storage_plan.hpp"

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // 24 bytes for each byte of "1,1," while the list of values grows; a shape of "[1]," is a vector.
  const Budget budget(size, {.bytes_per_input_byte = 64});
  const auto graph = read_graph_json(text_of(data, size), 0);
  if (!graph.ok()) return expect_refusal(graph.error(), size);

  for (const GraphNode& node : graph->nodes) {
    expect(node.first_entry + node.output_count <= graph->entries.size(), "outputs are entries");
    for (const std::uint32_t input : node.inputs) {
      expect(input < graph->entries.size(), "inputs are entries");
    }
  }
  for (const GraphOutput& head : graph->heads) {
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
