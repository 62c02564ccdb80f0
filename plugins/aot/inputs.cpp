// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

namespace gantry::aot {
namespace {

Result<std::size_t> input_of(const Executor& executor, const Call& call, const gantry_value& key) {
  return index_of(call, key, "input", executor.metadata().inputs);
}

std::string input_title(const Executor& executor, std::size_t input) {
  return title("input", executor.metadata().inputs[input]);
}

}  // namespace

Result<Value> set_input(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* const from, call.tensor(1));
  GANTRY_TRY(const std::size_t input, input_of(executor, call, call.args[0]));
  Status copied = executor.memory().copy_in(input, *from, call.env);
  if (!copied.ok())
    return std::move(copied).error().at("while setting ", input_title(executor, input));
  return Value();
}

Result<Value> set_input_zero_copy(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::size_t input, input_of(executor, call, call.args[0]));
  GANTRY_CHECK(bind_argument(executor, call, input, "input", executor.metadata().inputs[input]));
  return Value();
}

Result<Value> get_input(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::size_t input, input_of(executor, call, call.args[0]));
  return executor.memory().tensor(input);
}

Result<Value> get_input_index(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view name, call.text(0));
  const std::vector<AotTensor>& inputs = executor.metadata().inputs;
  const std::size_t index = index_of(name, inputs);
  return Value::adopt(int_value(index == inputs.size() ? -1 : static_cast<std::int64_t>(index)));
}

Result<Value> get_input_name(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_CHECK(call.integer(0));
  GANTRY_TRY(const std::size_t input, input_of(executor, call, call.args[0]));
  return executor.host().text(executor.metadata().inputs[input].name);
}

Result<Value> get_num_inputs(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return Value::adopt(int_value(static_cast<std::int64_t>(executor.metadata().inputs.size())));
}

}  // namespace gantry::aot
