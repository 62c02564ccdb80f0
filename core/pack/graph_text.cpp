// SPDX-License-Identifier: Apache-2.0
#include "core/pack/graph_text.hpp"
#include "core/pack/storage_plan.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace gantry {
namespace {

using Json = nlohmann::ordered_json;

// One output of one node: what the attributes of a graph are listed by.
struct Entry {
  std::size_t node;
  std::size_t output;
  TensorType type;
  TensorLife life;
};

class GraphWriter {
 public:
  Status add_argument(const GraphTensor& tensor) {
    GANTRY_CHECK(add_entry(tensor, nodes_.size(), 0, {.first = 0, .last = 0, .shared = false}));
    arg_nodes_.push_back(nodes_.size());
    nodes_.push_back({{"op", "null"}, {"name", tensor.name}, {"inputs", Json::array()}});
    end_node();
    return {};
  }

  Status add_operator(const GraphOperator& call, std::size_t step) {
    if (call.function == "__nop") return invalid("function \"__nop\" is reserved for compilers");
    if (call.outputs.empty()) {
      return invalid("operator ", step, " ", quoted(call.function), " has no output, fewest is 1");
    }
    Json inputs = Json::array();
    for (const std::string& name : call.inputs) {
      GANTRY_TRY(Entry* const entry, find(name, concat("operator ", step)));
      entry->life.last = step;
      inputs.push_back(place(*entry));
    }
    const std::size_t node = nodes_.size();
    for (std::size_t o = 0; o < call.outputs.size(); ++o) {
      GANTRY_CHECK(add_entry(call.outputs[o], node, o, {.first = step, .last = step}));
    }
    nodes_.push_back({{"op", "tvm_op"},
                      {"name", call.outputs.front().name},
                      {"attrs",
                       {{"func_name", call.function},
                        {"flatten_data", "0"},
                        {"num_inputs", concat(call.inputs.size())},
                        {"num_outputs", concat(call.outputs.size())}}},
                      {"inputs", std::move(inputs)}});
    end_node();
    return {};
  }

  Status add_output(const std::string& name) {
    GANTRY_TRY(Entry* const entry, find(name, "outputs"));
    entry->life.shared = false;  // a later operator must not write over it
    heads_.push_back(place(*entry));
    return {};
  }

  std::string text() const {
    std::vector<TensorLife> lives;
    Json shapes = Json::array();
    Json dtypes = Json::array();
    for (const Entry& entry : entries_) {
      lives.push_back(entry.life);
      shapes.push_back(entry.type.shape);
      dtypes.push_back(dtype_text(entry.type.dtype));
    }
    const Json graph = {{"nodes", nodes_},
                        {"arg_nodes", arg_nodes_},
                        {"heads", heads_},
                        {"attrs",
                         {{"dltype", Json::array({"list_str", std::move(dtypes)})},
                          {"storage_id", Json::array({"list_int", plan_storage(lives)})},
                          {"shape", Json::array({"list_shape", std::move(shapes)})}}},
                        {"node_row_ptr", row_ptr_}};
    return graph.dump(2, ' ', false, Json::error_handler_t::replace);
  }

 private:
  static Json place(const Entry& entry) { return Json::array({entry.node, entry.output, 0}); }

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

  Result<Entry*> find(const std::string& name, std::string_view who) {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return &entries_[found->second];
    std::string known;
    for (const auto& [other, entry] : by_name_) known += (known.empty() ? "" : ", ") + other;
    return not_found(who, " names tensor ", quoted(name), ", defined before it are ", known);
  }

  Json nodes_ = Json::array();
  Json heads_ = Json::array();
  std::vector<std::size_t> arg_nodes_;
  std::vector<std::size_t> row_ptr_ = {0};
  std::vector<Entry> entries_;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace

Result<std::string> write_graph_json(const GraphDescription& graph,
                                     std::span<const GraphTensor> parameters) {
  if (graph.outputs.empty()) return invalid("graph has no outputs, fewest is 1");
  GraphWriter writer;
  for (const GraphTensor& input : graph.inputs) GANTRY_CHECK(writer.add_argument(input));
  for (const GraphTensor& parameter : parameters) GANTRY_CHECK(writer.add_argument(parameter));
  for (std::size_t step = 0; step < graph.operators.size(); ++step) {
    GANTRY_CHECK(writer.add_operator(graph.operators[step], step));
  }
  for (const std::string& output : graph.outputs) GANTRY_CHECK(writer.add_output(output));
  return writer.text();
}

}  // namespace gantry
