// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

#include <gantry/tensor_text.hpp>

#include <algorithm>

namespace gantry::aot {
namespace {

Result<std::size_t> output_of(const Executor& executor, const Call& call) {
  return index_of(call, call.args[0], "output", executor.metadata().outputs);
}

std::string output_title(const Executor& executor, std::size_t output) {
  return title("output", executor.metadata().outputs[output]);
}

}  // namespace

Result<Value> set_output_zero_copy(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::size_t output, output_of(executor, call));
  GANTRY_CHECK(bind_argument(executor, call, executor.memory().output(output), "output",
                             executor.metadata().outputs[output]));
  return Value();
}

Result<Value> get_output(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1, 2));
  GANTRY_TRY(const std::size_t output, output_of(executor, call));
  Memory& memory = executor.memory();
  const std::size_t argument = memory.output(output);
  if (call.args.size() == 1) return memory.tensor(argument);

  GANTRY_TRY(const gantry_tensor* const to, call.tensor(1));
  if (!std::ranges::equal(shape_of(*to), executor.metadata().outputs[output].shape))
    return call.refuse("tensor has another shape than ", output_title(executor, output));
  Status copied = executor.host().tensor_copy(memory.cell(argument), *to, call.env);
  if (!copied.ok())
    return std::move(copied).error().at("while copying ", output_title(executor, output));
  return Value();
}

Result<Value> get_num_outputs(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return Value::adopt(int_value(static_cast<std::int64_t>(executor.metadata().outputs.size())));
}

}  // namespace gantry::aot
