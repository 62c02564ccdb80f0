// SPDX-License-Identifier: Apache-2.0
#include "core/writing/graph_text.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/near_name.hpp"
#include "core/writing/storage_plan.hpp"

#include <gantry/join.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace gantry {
namespace {

// One output of one node. The attributes of a graph are listed by entry.
struct DescribedEntry {
  std::size_t node;
  std::size_t output;
  TensorType type;
  TensorLife life;

  std::vector<std::size_t> location() const { return {node, output, 0}; }
};

struct Node {
  std::string name;
  // borrowed; NULL for an argument
  const GraphOperator* call = nullptr;
  std::vector<std::vector<std::size_t>> inputs = {};
};

class GraphWriter {
 public:
  Status add_argument(const GraphTensor& tensor) {
    GANTRY_CHECK(add_entry(tensor, nodes_.size(), 0, {.first = 0, .last = 0, .shared = false}));
    arg_nodes_.push_back(nodes_.size());
    nodes_.push_back({.name = tensor.name});
    end_node();
    return {};
  }

  Status add_operator(const GraphOperator& call, std::size_t step) {
    if (call.function == "__nop") return invalid("function \"__nop\" is reserved for compilers");
    if (call.outputs.empty()) {
      return invalid("operator ", step, " ", quoted(call.function), " has no output, minimum is 1");
    }
    Node node{.name = call.outputs.front().name, .call = &call};
    for (const std::string& name : call.inputs) {
      GANTRY_TRY(DescribedEntry* const entry, find(name, concat("operator ", step)));
      entry->life.last = step;
      node.inputs.push_back(entry->location());
    }
    for (std::size_t o = 0; o < call.outputs.size(); ++o) {
      GANTRY_CHECK(add_entry(call.outputs[o], nodes_.size(), o, {.first = step, .last = step}));
    }
    nodes_.push_back(std::move(node));
    end_node();
    return {};
  }

  Status add_output(const std::string& name) {
    GANTRY_TRY(DescribedEntry* const entry, find(name, "outputs"));
    // A later operator must not overwrite an output.
    entry->life.shared = false;
    heads_.push_back(entry->location());
    output_names_.push_back(name);
    return {};
  }

  // devices  [in]   see GraphDescription
  std::string text(const std::vector<std::int32_t>& devices) const {
    std::string text;
    JsonWriter json([&](std::string_view piece) { text += piece; });
    json.begin_object();
    json.begin_list("nodes");
    for (const Node& node : nodes_) write_node(node, json);
    json.end();
    json.field("arg_nodes", arg_nodes_);
    json.field("heads", heads_);
    json.key("attrs");
    write_attributes(devices, json);
    json.field("node_row_ptr", row_ptr_);
    // The last key: TVM's reader ends here.
    if (std::set(output_names_.begin(), output_names_.end()).size() == output_names_.size()) {
      json.begin_object("metadata");
      json.field("gantry_output_names", output_names_);
      json.end();
    }
    json.end();
    return text;
  }

 private:
  static void write_node(const Node& node, JsonWriter& json) {
    json.begin_object();
    json.field("op", node.call != nullptr ? "tvm_op" : "null");
    json.field("name", node.name);
    if (node.call != nullptr) {
      json.begin_object("attrs");
      json.field("func_name", node.call->function);
      json.field("flatten_data", "0");
      json.field("num_inputs", concat(node.call->inputs.size()));
      json.field("num_outputs", concat(node.call->outputs.size()));
      json.end();
    }
    json.field("inputs", node.inputs);
    json.end();
  }

  void write_attributes(const std::vector<std::int32_t>& devices, JsonWriter& json) const {
    std::vector<TensorLife> lives;
    std::vector<std::string> dtypes;
    std::vector<std::vector<std::int64_t>> shapes;
    for (const DescribedEntry& entry : entries_) {
      lives.push_back(entry.life);
      dtypes.push_back(dtype_text(entry.type.dtype));
      shapes.push_back(entry.type.shape);
    }
    json.begin_object();
    write_attribute("dltype", "list_str", dtypes, json);
    write_attribute("storage_id", "list_int", plan_storage(lives), json);
    write_attribute("shape", "list_shape", shapes, json);
    // TVM's readers skip attributes of this tag that they do not know.
    if (!devices.empty()) write_attribute("gantry_devices", "list_int", devices, json);
    json.end();
  }

  template <class T>
  static void write_attribute(std::string_view name, std::string_view tag,
                              const std::vector<T>& values, JsonWriter& json) {
    json.begin_list(name);
    json.value(tag);
    json.value(values);
    json.end();
  }

  Status add_entry(const GraphTensor& tensor, std::size_t node, std::size_t output,
                   TensorLife life) {
    if (!by_name_.emplace(tensor.name, entries_.size()).second) {
      return invalid("tensor ", quoted(tensor.name), " is defined twice");
    }
    GANTRY_TRY(life.bytes, tensor_bytes(tensor.type.shape, tensor.type.dtype));
    entries_.push_back({node, output, tensor.type, life});
    return {};
  }
  void end_node() { row_ptr_.push_back(entries_.size()); }

  Result<DescribedEntry*> find(const std::string& name, std::string_view subject) {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return &entries_[found->second];
    std::vector<std::string_view> names;
    for (const auto& [known, entry] : by_name_) names.push_back(known);
    return not_found(subject, " names tensor ", quoted(name), did_you_mean(name, names),
                     ", defined before it are ",
                     join(names, ", ", std::identity(), max_listed_names));
  }

  std::vector<Node> nodes_;
  std::vector<std::vector<std::size_t>> heads_;
  std::vector<std::string> output_names_;
  std::vector<std::size_t> arg_nodes_;
  std::vector<std::size_t> row_ptr_ = {0};
  std::vector<DescribedEntry> entries_;
  std::map<std::string, std::size_t> by_name_;
};

// Adds the place in the recipe to an error.
Status located(Status status, const std::string& location) {
  if (status.ok() || location.empty()) return status;
  return std::move(status).error().at("for ", location);
}

}  // namespace

Result<std::string> write_graph_json(const GraphDescription& graph,
                                     std::span<const GraphTensor> parameters) {
  if (graph.outputs.empty()) {
    GANTRY_CHECK(located(invalid("graph has no outputs, minimum is 1"), graph.location));
  }
  GraphWriter writer;
  for (const GraphTensor& input : graph.inputs) {
    GANTRY_CHECK(located(writer.add_argument(input), graph.location));
  }
  for (const GraphTensor& parameter : parameters) {
    GANTRY_CHECK(located(writer.add_argument(parameter), graph.location));
  }
  for (std::size_t step = 0; step < graph.operators.size(); ++step) {
    const GraphOperator& call = graph.operators[step];
    GANTRY_CHECK(located(writer.add_operator(call, step), call.location));
  }
  for (const std::string& output : graph.outputs) {
    GANTRY_CHECK(located(writer.add_output(output), graph.location));
  }
  return writer.text(graph.devices);
}

}  // namespace gantry
