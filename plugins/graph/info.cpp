// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

#include <gantry/dtype_text.hpp>

namespace gantry::graph {
namespace {

// Returns {"shape": {name: shape}, "dtype": {name: text}} for pairs of name and entry.
class Info {
 public:
  explicit Info(const Executor& executor) : executor_(executor) {}

  Status add(std::string_view name, std::uint32_t e) {
    const Host& host = executor_.host();
    const GraphEntry& entry = executor_.graph().entries[e];
    GANTRY_TRY(const Value key, host.text(name));
    GANTRY_TRY(const Value shape, host.shape(entry.shape));
    GANTRY_TRY(const Value dtype, host.text(dtype_text(entry.dtype)));
    shapes_.emplace_back(key, shape);
    dtypes_.emplace_back(key, dtype);
    return {};
  }
  Result<Value> map() const {
    const Host& host = executor_.host();
    GANTRY_TRY(const Value shape, host.text("shape"));
    GANTRY_TRY(const Value shapes, host.map(shapes_));
    GANTRY_TRY(const Value dtype, host.text("dtype"));
    GANTRY_TRY(const Value dtypes, host.map(dtypes_));
    return host.map({{shape, shapes}, {dtype, dtypes}});
  }

 private:
  const Executor& executor_;
  std::vector<Host::Entry> shapes_, dtypes_;
};

}  // namespace

Result<Value> get_input_info(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  const Graph& graph = executor.graph();
  Info info(executor);
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    if (!executor.is_parameter[i])
      GANTRY_CHECK(info.add(graph.input(i).name, graph.input_entry(i)));
  }
  return info.map();
}

Result<Value> get_output_info(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  Info info(executor);
  const Graph& graph = executor.graph();
  for (std::size_t i = 0; i < graph.heads.size(); ++i) {
    GANTRY_CHECK(info.add(output_name(graph, i), graph.heads[i].entry));
  }
  return info.map();
}

}  // namespace gantry::graph
