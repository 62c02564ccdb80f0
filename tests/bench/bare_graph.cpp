// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bare_graph.hpp"

#include "tests/bench/suite.hpp"

#include <gantry/dtype_text.hpp>

#include <nlohmann/json.hpp>

#include <map>

namespace gantry::bench {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kAlignment = 128;

}  // namespace

BareGraph::BareGraph(const Module& model, const std::filesystem::path& library,
                     const Executor& executor)
    : executor_(executor) {
  const Json graph =
      Json::parse(or_fail(or_fail(or_fail(model.function("get_graph_json"))()).text()));
  const Json& nodes = graph["nodes"];
  const auto first_entry = graph["node_row_ptr"].get<std::vector<std::size_t>>();
  const auto storage_of = graph["attrs"]["storage_id"][1].get<std::vector<std::size_t>>();
  const auto types = graph["attrs"]["dltype"][1].get<std::vector<std::string>>();
  shapes_ = graph["attrs"]["shape"][1].get<std::vector<std::vector<std::int64_t>>>();

  // bytes of each storage
  std::map<std::size_t, std::size_t> bytes;
  for (std::size_t e = 0; e < shapes_.size(); ++e) {
    const gantry_dtype dtype = or_fail(parse_dtype(types[e]));
    std::size_t size = (dtype.bits * dtype.lanes + 7) / 8;
    for (const std::int64_t extent : shapes_[e]) size *= static_cast<std::size_t>(extent);
    bytes[storage_of[e]] = std::max(bytes[storage_of[e]], size);
    tensors_.push_back({nullptr,
                        {1, 0},
                        static_cast<std::int32_t>(shapes_[e].size()),
                        dtype,
                        shapes_[e].data(),
                        nullptr,
                        0});
  }
  std::map<std::size_t, void*> memory;
  const Function get_input = or_fail(executor_.module().function("get_input"));
  std::size_t argument_count = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n]["op"] == "null") {
      inputs_.push_back(or_fail(or_fail(get_input(nodes[n]["name"].get<std::string>())).tensor()));
      memory[storage_of[first_entry[n]]] = inputs_.back().data();
    } else {
      argument_count += nodes[n]["inputs"].size() + first_entry[n + 1] - first_entry[n];
    }
  }
  for (const auto& [id, size] : bytes) {
    if (memory.contains(id)) continue;
    storage_.emplace_back(
        std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment));
    memory[id] = storage_.back().get();
  }
  for (std::size_t e = 0; e < tensors_.size(); ++e) tensors_[e].data = memory[storage_of[e]];

  // calls_ points into it, so it must not grow
  values_.reserve(argument_count);
  codes_.assign(argument_count, kPackedTensor);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Json& node = nodes[n];
    if (node["op"] == "null") continue;
    const auto name = node["attrs"]["func_name"].get<std::string>();
    if (node["attrs"]["flatten_data"] != "0")
      throw Failed("operator " + name + " has flatten_data, which is not supported");
    PackedValue* const args = values_.data() + values_.size();
    int* const codes = codes_.data() + values_.size();
    for (const Json& input : node["inputs"]) {
      values_.push_back(
          {.p = &tensors_[first_entry[input[0].get<std::size_t>()] + input[1].get<std::size_t>()]});
    }
    for (std::size_t e = first_entry[n]; e < first_entry[n + 1]; ++e)
      values_.push_back({.p = &tensors_[e]});
    if (name == "__nop") continue;
    calls_.push_back({reinterpret_cast<PackedCall>(symbol_of(library, name.c_str())), args, codes,
                      static_cast<int>(values_.data() + values_.size() - args)});
  }
}

void BareGraph::run() const {
  PackedValue result;
  int code;
  for (const OperatorCall& op : calls_) {
    if (op.call(op.args, op.codes, op.count, &result, &code, nullptr) != 0)
      throw Failed("an operator of the bare loop fails");
  }
}

}  // namespace gantry::bench
