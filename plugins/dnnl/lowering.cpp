// SPDX-License-Identifier: Apache-2.0
#include "lowering.hpp"

#include "failure_of.hpp"
#include "row_check.hpp"

#include <gantry/join.hpp>
#include <gantry/word_list.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace gantry::dnnl_plugin {
namespace {

Status lower(const Operator& op) {
  switch (op.match.row->operation) {
    case Operation::attention:
      return lower_attention(op);
    case Operation::cast:
      return lower_cast(op);
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
    case Operation::resize:
      return lower_resize(op);
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
Result<OperatorMatch> read_operator(std::string_view type_key, const Subgraph& graph,
                                    const SubgraphNode& node) {
  if (node.output_count == 0) {
    return malformed(node.at, "operator ", quoted(node.name), " has no output")
        .with_reason("SUBGRAPH");
  }
  auto match = find_operator(type_key, node.name);
  if (!match) return not_supported(type_key, node);
  GANTRY_CHECK(check_row(*match, graph, node));
  return std::move(*match);
}

bool has_narrow_type(const Subgraph& graph, const SubgraphNode& node) {
  const auto narrow = [&](std::uint32_t entry) {
    const auto type = element_type_of(graph.entries[entry].dtype);
    return type && is_narrow(*type);
  };
  if (std::ranges::any_of(node.inputs, narrow)) return true;
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    if (narrow(node.first_entry + i)) return true;
  }
  return false;
}

// Sets the outputs of an operator if none has elements: there is nothing to compute.
Result<bool> set_empty_outputs(Builder& builder, const Subgraph& graph, const SubgraphNode& node) {
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    if (!has_no_elements(graph.entries[node.first_entry + i].shape)) return false;
  }
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    GANTRY_CHECK(builder.set_empty(node.first_entry + i, node));
  return true;
}

Status lower_node(Builder& builder, const Subgraph& graph, const SubgraphNode& node,
                  const OperatorMatch& match) {
  builder.set_operator(node.name, node.at);
  GANTRY_TRY(const bool is_done, set_empty_outputs(builder, graph, node));
  if (is_done) return {};
  const Builder::Mark mark = builder.mark();
  const bool can_widen = has_narrow_type(graph, node);
  for (bool is_wide = false;; is_wide = true) {
    try {
      return lower({builder, graph, node, match, is_wide, can_widen});
    } catch (const ::dnnl::error& error) {
      if (!is_wide && can_widen) {
        builder.rewind(mark, node);
        continue;
      }
      const auto type_of = [&](std::uint32_t entry) {
        return type_text(graph.entries[entry].dtype, graph.entries[entry].shape);
      };
      const std::uint32_t outputs[] = {node.first_entry};
      const std::string what =
          concat("operator ", quoted(node.name), " of ", join(node.inputs, ", ", type_of, 8),
                 " to ", join(outputs, ", ", type_of));
      return failure_of(error.status, what, node.at);
    }
  }
}

}  // namespace

bool has_no_elements(const std::vector<std::int64_t>& shape) {
  return std::ranges::find(shape, 0) != shape.end();
}

Result<View> Operator::input(std::size_t i) const {
  GANTRY_TRY(const View view, input_or_part(i));
  return view.offset == 0 ? view : builder.plain(view);
}

Result<View> Operator::input_or_part(std::size_t i) const {
  if (i >= node.inputs.size()) {
    return refuse(" has ", node.inputs.size(), " inputs, expected ", quoted(match.row->inputs));
  }
  if (!builder.has_entry(node.inputs[i]))
    return refuse_support(": input ", i, " is an output that is not computed");
  if (is_empty(i)) return refuse_support(": input ", i, " has no elements, the output has some");
  return builder.entry(node.inputs[i], is_wide);
}

Result<View> Operator::wide_input(std::size_t i) const {
  return Operator{builder, graph, node, match, true, can_widen}.input(i);
}

bool Operator::is_empty(std::size_t i) const {
  return i < node.inputs.size() && has_no_elements(graph.entries[node.inputs[i]].shape);
}

Dims Operator::output_dims() const {
  const std::vector<std::int64_t>& shape = graph.entries[node.first_entry].shape;
  return shape.empty() ? Dims{1} : shape;
}

std::string_view Operator::name() const {
  std::string_view name = match.base;
  for (const std::string_view prefix : {"openclml.", "relax."}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return name;
}

namespace {

Result<DataType> type_of_entry(const Operator& op, std::uint32_t entry) {
  GANTRY_TRY(const ElementType type, read_element_type(op.graph.entries[entry].dtype));
  if (op.is_wide && is_narrow(type)) return DataType::f32;
  // Fails as a primitive does that oneDNN does not have.
  if (type == ElementType::float8_e4m3fn) op.widen();
  return data_type_of(type);
}

}  // namespace

std::string how_of(const OperatorRow& row) {
  switch (row.operation) {
    case Operation::attention:
      return "primitives: product, softmax, product";
    case Operation::instance_norm:
    case Operation::l2_pooling:
      return "primitives";
    case Operation::reshape:
    case Operation::transpose:
    case Operation::layout_transform:
    case Operation::slice:
    case Operation::split:
      return "view";
    case Operation::pad:
      return "copy";
    case Operation::cast:
    case Operation::resize:
      return "loop";
    default:
      break;
  }
  std::string loops;
  std::size_t count = 0, all = 0;
  for (std::string_view names = row.names; !names.empty(); ++all) {
    const std::string_view name = take_word(names, ' ');
    if (!is_loop(row.operation, name)) continue;
    append(loops, {TextPiece(count++ == 0 ? "" : " "), TextPiece(name)});
  }
  if (count == all) return "loop";
  return count == 0 ? "primitive" : concat("primitive; loop: ", loops);
}

Result<DataType> Operator::output_type() const { return type_of_entry(*this, node.first_entry); }

Result<DataType> Operator::input_type(std::size_t i) const {
  return type_of_entry(*this, node.inputs[i]);
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

Result<std::vector<OperatorMatch>> read_operators(std::string_view type_key,
                                                  const Subgraph& graph) {
  std::vector<OperatorMatch> operators(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].kind != SubgraphNodeKind::kernel) continue;
    GANTRY_TRY(operators[n], read_operator(type_key, graph, graph.nodes[n]));
  }
  return operators;
}

Result<Plan> lower_subgraph(const ::dnnl::engine& engine, const Subgraph& graph,
                            std::span<const OperatorMatch> operators,
                            std::span<const Value> constants) {
  Builder builder(engine, graph, constants);
  try {
    GANTRY_CHECK(builder.begin());
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (operators[n].row != nullptr)
        GANTRY_CHECK(lower_node(builder, graph, graph.nodes[n], operators[n]));
    }
    return builder.finish();
  } catch (const ::dnnl::error& error) {
    return failure_of(error.status, "sub-graph");
  }
}

}  // namespace gantry::dnnl_plugin
