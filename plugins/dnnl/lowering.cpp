// SPDX-License-Identifier: Apache-2.0
#include "lowering.hpp"

#include "failure_of.hpp"
#include "row_check.hpp"

#include <gantry/join.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace gantry::dnnl_plugin {
namespace {

Status lower(const Operator& op) {
  switch (op.match.row->operation) {
    case Operation::convolution:
      return lower_convolution(op);
    case Operation::transposed_convolution:
      return lower_transposed_convolution(op);
    case Operation::dense:
      return lower_dense(op);
    case Operation::batch_matmul:
      return lower_batch_matmul(op);
    case Operation::matmul:
      return lower_matmul(op);
    case Operation::batch_norm:
      return lower_batch_norm(op);
    case Operation::layer_norm:
      return lower_layer_norm(op);
    case Operation::instance_norm:
      return lower_instance_norm(op);
    case Operation::softmax:
      return lower_softmax(op);
    case Operation::pooling:
      return lower_pooling(op);
    case Operation::global_pooling:
      return lower_global_pooling(op);
    case Operation::l2_pooling:
      return lower_l2_pooling(op);
    case Operation::elementwise:
      return lower_elementwise(op);
    case Operation::binary:
      return lower_binary(op);
    case Operation::bias_add:
      return lower_bias_add(op);
    case Operation::concatenate:
      return lower_concatenate(op);
    case Operation::reshape:
      return lower_reshape(op);
    case Operation::transpose:
      return lower_transpose(op);
    case Operation::layout_transform:
      return lower_layout_transform(op);
    case Operation::pad:
      return lower_pad(op);
    case Operation::slice:
      return lower_slice(op);
    case Operation::split:
      return lower_split(op);
    case Operation::reduce:
      return lower_reduce(op);
  }
  return bug("operation without a function");
}

Failure not_supported(std::string_view key, const SubgraphNode& node) {
  std::string names;
  for (const OperatorRow& row : operator_rows()) {
    if (row.key == key) append(names, {TextPiece(names.empty() ? "" : " "), TextPiece(row.names)});
  }
  return unsupported("operator ", quoted(node.name), " of ", quoted(key),
                     " is not supported, supported are ", names)
      .with_reason("SUBGRAPH_OPERATOR");
}

// Returns the operator's row, with which it agrees.
Result<OperatorMatch> read_operator(const SubgraphCode& code, const SubgraphNode& node) {
  if (node.output_count == 0) {
    return malformed(node.at, "operator ", quoted(node.name), " has no output")
        .with_reason("SUBGRAPH");
  }
  auto match = find_operator(code.type_key, node.name);
  if (!match) return not_supported(code.type_key, node);
  GANTRY_CHECK(check_row(*match, code.graph, node));
  return std::move(*match);
}

Status lower_node(Builder& builder, const SubgraphCode& code, const SubgraphNode& node,
                  const OperatorMatch& match) {
  builder.set_operator(node.name, node.at);
  const Operator op{builder, code.graph, node, match};
  try {
    return lower(op);
  } catch (const ::dnnl::error& error) {
    const auto type_of = [&](std::uint32_t entry) {
      return type_text(code.graph.entries[entry].dtype, code.graph.entries[entry].shape);
    };
    const std::uint32_t outputs[] = {node.first_entry};
    const std::string what =
        concat("operator ", quoted(node.name), " of ", join(node.inputs, ", ", type_of, 8), " to ",
               join(outputs, ", ", type_of));
    return failure_of(error.status, what, node.at);
  }
}

}  // namespace

Result<View> Operator::input(std::size_t i) const {
  GANTRY_TRY(const View view, input_or_part(i));
  return view.offset == 0 ? view : builder.plain(view);
}

Result<View> Operator::input_or_part(std::size_t i) const {
  if (i >= node.inputs.size()) {
    return refuse(" has ", node.inputs.size(), " inputs, expected ", quoted(match.row->inputs));
  }
  const View& view = builder.entry(node.inputs[i]);
  if (!view.exists()) return refuse_support(": input ", i, " is an output that is not computed");
  return view;
}

Dims Operator::output_dims() const {
  const std::vector<std::int64_t>& shape = graph.entries[node.first_entry].shape;
  return shape.empty() ? Dims{1} : shape;
}

Result<DataType> Operator::output_type() const {
  return data_type_of(graph.entries[node.first_entry].dtype);
}

Result<std::size_t> axis_of(const Operator& op, std::string_view attribute, std::size_t rank,
                            std::optional<std::int64_t> absent) {
  GANTRY_TRY(std::int64_t axis, op.attributes.integer(attribute, absent));
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) {
    return op.attributes.refuse(attribute, " is ", axis, ", range is ", -count, " to ", count - 1);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

::dnnl::primitive_attr new_attributes() {
  ::dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(::dnnl::scratchpad_mode::user);
  return attributes;
}

Result<Plan> lower_subgraph(const ::dnnl::engine& engine, const SubgraphCode& code,
                            std::span<const Value> constants) {
  // All before a buffer is created, so that errors name operators.
  std::vector<std::pair<const SubgraphNode*, OperatorMatch>> operators;
  for (const SubgraphNode& node : code.graph.nodes) {
    if (node.kind != SubgraphNodeKind::kernel) continue;
    GANTRY_TRY(OperatorMatch match, read_operator(code, node));
    operators.emplace_back(&node, std::move(match));
  }
  Builder builder(engine, code, constants);
  try {
    GANTRY_CHECK(builder.begin());
    for (const auto& [node, match] : operators)
      GANTRY_CHECK(lower_node(builder, code, *node, match));
    return builder.finish();
  } catch (const ::dnnl::error& error) {
    return failure_of(error.status, "sub-graph");
  }
}

}  // namespace gantry::dnnl_plugin
