// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

#include <algorithm>

namespace gantry::graph {
namespace {

std::string numbered_name(const Graph& graph, const GraphOutput& head) {
  return concat(graph.nodes[head.node].name, ":", head.index);
}

// Returns the index of the output that a key names: the graph's name of it; "<node>" in v0.8 and
// v0.9, "<node>:<output>" in later releases.
Result<std::uint32_t> output_of(const Executor& executor, const Call& call,
                                const gantry_value& key) {
  const Graph& graph = executor.graph();
  if (const auto name = value_text(key)) {
    const auto named = std::ranges::find(graph.output_names, *name);
    if (named != graph.output_names.end())
      return static_cast<std::uint32_t>(named - graph.output_names.begin());
    for (std::uint32_t i = 0; i < graph.heads.size(); ++i) {
      if (*name == numbered_name(graph, graph.heads[i])) return i;
    }
    for (std::uint32_t i = 0; i < graph.heads.size(); ++i) {
      if (*name == graph.nodes[graph.heads[i].node].name) return i;
    }
    const std::string names =
        list_names(graph.heads.size(), [&](std::size_t i) { return output_name(graph, i); });
    return not_found("output ", quoted(*name), " not found; outputs: ", names)
        .with_reason("OUTPUT");
  }
  return index_of(call, key, "output", graph.heads.size());
}

}  // namespace

std::string output_title(const Executor& executor, std::uint32_t output) {
  const Graph& graph = executor.graph();
  const GraphOutput& head = graph.heads[output];
  return concat("output ", quoted(output_name(graph, output)), " ",
                type_text(graph.entries[head.entry]));
}

std::string output_name(const Graph& graph, std::size_t output) {
  if (!graph.output_names.empty()) return graph.output_names[output];
  const GraphOutput& head = graph.heads[output];
  const GraphNode& node = graph.nodes[head.node];
  return node.output_count == 1 ? node.name : numbered_name(graph, head);
}

Result<Value> set_output_zero_copy(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* tensor, call.tensor(1));
  GANTRY_TRY(const std::uint32_t output, output_of(executor, call, call.args[0]));
  const GraphOutput& head = executor.graph().heads[output];
  Memory& memory = executor.memory();
  const Binding binding{Owner::output, output};
  Status fits = check_binding(executor, head.entry, *tensor, binding);
  if (!fits.ok())
    return std::move(fits).error().at("while binding ", output_title(executor, output));
  // No operator writes an output that is an input: its value is copied.
  if (memory.holds_input(head.entry)) {
    GANTRY_CHECK(executor.host().tensor_copy(memory.cell(head.entry), *tensor, call.env));
  }
  gantry_object* keeper = call.args[1].kind == GANTRY_TENSOR ? call.args[1].object : nullptr;
  GANTRY_CHECK(memory.bind(head.entry, *tensor, keeper, binding));
  return Value();
}

Result<Value> get_output(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1, 2));
  GANTRY_TRY(const std::uint32_t output, output_of(executor, call, call.args[0]));
  const GraphOutput& head = executor.graph().heads[output];
  if (call.args.size() == 1) return executor.memory().tensor(head.entry);

  GANTRY_TRY(const gantry_tensor* to, call.tensor(1));
  if (!has_shape(*to, executor.graph().entries[head.entry]))
    return call.refuse("tensor has another shape than ", output_title(executor, output));
  Status copied = executor.host().tensor_copy(executor.memory().cell(head.entry), *to, call.env);
  if (!copied.ok())
    return std::move(copied).error().at("while copying ", output_title(executor, output));
  return Value();
}

Result<Value> get_num_outputs(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return Value::adopt(int_value(static_cast<std::int64_t>(executor.graph().heads.size())));
}

}  // namespace gantry::graph
