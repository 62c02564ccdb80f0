// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

namespace gantry::graph {

std::string input_title(const Executor& executor, std::uint32_t input) {
  const Graph& graph = executor.graph();
  return concat("input ", quoted(graph.input(input).name), " ",
                type_text(graph.entries[graph.input_entry(input)]));
}

Result<std::uint32_t> input_of(const Executor& executor, const Call& call,
                               const gantry_value& key) {
  const Graph& graph = executor.graph();
  if (const auto name = value_text(key)) {
    const auto found = graph.input_by_name.find(*name);
    if (found != graph.input_by_name.end()) return found->second;
    const std::string names = list_names(graph.inputs.size(), [&](std::size_t i) {
      return graph.input(static_cast<std::uint32_t>(i)).name;
    });
    return not_found("input ", quoted(*name), " not found; inputs: ", names).with_reason("INPUT");
  }
  return index_of(call, key, "input", graph.inputs.size());
}

namespace {

Status copy_input(Executor& executor, const Call& call, const gantry_value& key,
                  const gantry_tensor& from) {
  GANTRY_TRY(const std::uint32_t input, input_of(executor, call, key));
  Status copied = executor.memory().copy_in(executor.graph().input_entry(input), from, call.env);
  if (!copied.ok())
    return std::move(copied).error().at("while setting ", input_title(executor, input));
  return {};
}

}  // namespace

Result<Value> set_input(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* from, call.tensor(1));
  GANTRY_CHECK(copy_input(executor, call, call.args[0], *from));
  return Value();
}

Result<Value> set_input_zero_copy(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* tensor, call.tensor(1));
  GANTRY_TRY(const std::uint32_t input, input_of(executor, call, call.args[0]));
  const std::uint32_t entry = executor.graph().input_entry(input);
  const Binding binding{Owner::input, input};
  Status fits = check_binding(executor, entry, *tensor, binding);
  if (!fits.ok()) return std::move(fits).error().at("while binding ", input_title(executor, input));
  gantry_object* keeper = call.args[1].kind == GANTRY_TENSOR ? call.args[1].object : nullptr;
  GANTRY_CHECK(executor.memory().bind(entry, *tensor, keeper, binding));
  return Value();
}

Result<Value> get_input(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::uint32_t input, input_of(executor, call, call.args[0]));
  return executor.memory().tensor(executor.graph().input_entry(input));
}

Result<Value> get_input_index(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view name, call.text(0));
  const auto found = executor.graph().input_by_name.find(name);
  const bool known = found != executor.graph().input_by_name.end();
  const std::int64_t index = known ? std::int64_t{found->second} : -1;
  return Value::adopt(int_value(index));
}

Result<Value> get_num_inputs(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return Value::adopt(int_value(static_cast<std::int64_t>(executor.graph().inputs.size())));
}

Result<Value> run_from_inputs(Executor& executor, const Call& call) {
  if (call.args.size() < 2 || call.args.size() % 2 != 0) {
    return call.refuse("argument count is ", call.args.size(),
                       ", expected a device and pairs of name and tensor");
  }
  GANTRY_TRY(const std::int64_t type, call.integer(0));
  GANTRY_TRY(const std::int64_t index, call.integer(1));
  if (type < 0 || type > INT32_MAX || index < 0 || index > INT32_MAX) {
    return call.refuse("device is ", type, ":", index, ", expected two numbers from 0 to ",
                       INT32_MAX);
  }
  for (std::size_t i = 2; i < call.args.size(); i += 2) {
    GANTRY_TRY(const gantry_tensor* from, call.tensor(i + 1));
    GANTRY_CHECK(copy_input(executor, call, call.args[i], *from));
  }
  StatusBuffer status;
  if (const gantry_code code = executor.run(call.env, status.get()))
    return status.error(code, "run");

  std::vector<Value> outputs;
  for (const GraphOutput& head : executor.graph().heads) {
    gantry_tensor like = executor.memory().cell(head.entry);
    like.device = {static_cast<std::int32_t>(type), static_cast<std::int32_t>(index)};
    GANTRY_TRY(Value output, executor.host().tensor_new(like));
    GANTRY_CHECK(executor.host().tensor_copy(executor.memory().cell(head.entry), *output.tensor(),
                                             call.env));
    outputs.push_back(std::move(output));
  }
  return executor.host().array(outputs);
}

}  // namespace gantry::graph
