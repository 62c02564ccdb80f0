// SPDX-License-Identifier: Apache-2.0
//
// The functions of an executor's module.
#pragma once

#include "executor.hpp"

#include <gantry/call.hpp>
#include <gantry/quoted.hpp>

namespace gantry::graph {

// inputs.cpp: a key is an input's name or its index.
Result<Value> set_input(Executor& executor, const Call& call);
Result<Value> set_input_zero_copy(Executor& executor, const Call& call);
Result<Value> get_input(Executor& executor, const Call& call);
Result<Value> get_input_index(Executor& executor, const Call& call);
Result<Value> get_num_inputs(Executor& executor, const Call& call);
Result<Value> run_from_inputs(Executor& executor, const Call& call);

// outputs.cpp: a key is "<node>:<output>", "<node>", or the output's index.
Result<Value> set_output_zero_copy(Executor& executor, const Call& call);
Result<Value> get_output(Executor& executor, const Call& call);
Result<Value> get_num_outputs(Executor& executor, const Call& call);

// params.cpp.
Result<Value> load_params(Executor& executor, const Call& call);
Result<Value> share_params(Executor& executor, const Call& call);

// info.cpp.
Result<Value> get_input_info(Executor& executor, const Call& call);
Result<Value> get_output_info(Executor& executor, const Call& call);

// debug.cpp: of executors made by debug_create only.
Result<Value> debug_get_output(Executor& executor, const Call& call);
Result<Value> profile(Executor& executor, const Call& call);

// Returns the index of the input that a key names.
//
// returns  NOT_FOUND listing the inputs; INVALID an index out of range, or no key
Result<std::uint32_t> input_of(const Executor& executor, const Call& call, const gantry_value& key);

// "<node>", or "<node>:<output>" where the node has several.
std::string output_name(const Graph& graph, const GraphOutput& head);

// "input "x" float32[2, 2]" and the like, for messages.
std::string input_title(const Executor& executor, std::uint32_t input);
std::string output_title(const Executor& executor, std::uint32_t output);

// Checks that an entry may be bound for one key. A value lies in one memory: where another input or
// output of the same value is bound already, a second binding would end the first one unnoticed.
//
// wanted   [in]   input or output, and which
// returns  INVALID ZERO_COPY naming the one that is bound
Status check_unbound(const Executor& executor, std::uint32_t entry, Binding wanted);

// Makes a module of an executor.
//
// parent   [in]   kept alive by the new module
Result<Value> new_executor_module(std::unique_ptr<Executor> executor, gantry_object* parent);

}  // namespace gantry::graph
