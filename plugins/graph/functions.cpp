// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

#include <gantry/module.hpp>

#include <array>

namespace gantry::graph {
namespace {

gantry_code run(Executor& executor, const Call& call, gantry_status* status) {
  return executor.run(call.env, status);
}

// At the end of the list.
constexpr std::size_t debug_count = 2;
constexpr std::array all_functions{
    method<&run, "run()">,
    method<&set_input, "set_input(name or index, tensor)">,
    method<&set_input_zero_copy, "set_input_zero_copy(name or index, tensor)">,
    method<&get_input, "get_input(name or index)">,
    method<&get_input_index, "get_input_index(name)">,
    method<&get_num_inputs, "get_num_inputs()">,
    method<&run_from_inputs, "run_from_inputs(device type, device index, name, tensor, ...)">,
    method<&set_output_zero_copy, "set_output_zero_copy(name or index, tensor)">,
    method<&get_output, "get_output(name or index[, tensor])">,
    method<&get_num_outputs, "get_num_outputs()">,
    method<&load_params, "load_params(bytes)">,
    method<&share_params, "share_params(executor, bytes)">,
    method<&get_input_info, "get_input_info()">,
    method<&get_output_info, "get_output_info()">,
    method<&debug_get_output, "debug_get_output(node name or index[, tensor])">,
    method<&profile, "profile()">,
};

}  // namespace

std::span<const Method<Executor>> Executor::functions() const {
  return std::span(all_functions)
      .first(all_functions.size() - (has_debug_functions ? 0 : debug_count));
}

Result<Value> new_executor_module(std::unique_ptr<Executor> executor, gantry_object* parent) {
  const Host host = executor->host();
  return new_module(host, parent, std::move(executor));
}

}  // namespace gantry::graph
