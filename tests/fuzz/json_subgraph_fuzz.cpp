// SPDX-License-Identifier: Apache-2.0
//
// Payloads whose code is a sub-graph in JSON.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <gantry/json_subgraph.hpp>
#include <gantry/subgraph_attributes.hpp>

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // 24 bytes for each byte of "1,1," while the list of values grows; an attribute [""] is a vector
  // and a string.
  const Budget budget(size, {.bytes_per_input_byte = 64});
  ByteReader in(std::span(data, size));
  const auto payload = read_subgraph_payload(in);
  if (!payload.ok()) return expect_refusal(payload.error(), size);
  expect(payload->graph_at + payload->graph_json.size() <= in.offset(),
         "the graph is in the bytes");

  const auto graph = read_json_subgraph(*payload);
  if (!graph.ok()) return expect_refusal(graph.error(), size);

  expect(graph->constants.size() == payload->constants.size(), "each constant has a name");
  std::uint32_t entry = 0;
  for (const SubgraphNode& node : graph->nodes) {
    expect(node.first_entry == entry, "entries are numbered");
    entry += node.output_count;
    for (const std::uint32_t input : node.inputs)
      expect(input < node.first_entry, "inputs come before");
    for (const SubgraphAttribute& attribute : node.attributes) {
      const auto numbers = SubgraphAttributes(node).integers(attribute.name);
      expect(numbers.ok() || numbers.error().offset < size, "errors have an offset in the bytes");
    }
  }
  expect(entry == graph->entries.size(), "each entry has a node");
  for (const auto* list : {&graph->inputs, &graph->outputs, &graph->constants}) {
    for (const std::uint32_t each : *list) expect(each < entry, "arguments are entries");
  }
  expect(!graph->outputs.empty(), "there is an output");
  return 0;
}
