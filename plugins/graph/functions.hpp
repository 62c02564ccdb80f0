// SPDX-License-Identifier: Apache-2.0
//
// The functions of an executor's module.
#pragma once

#include "executor.hpp"

#include <gantry/call.hpp>
#include <gantry/quoted.hpp>

namespace gantry::graph {

// Defined in inputs.cpp. A key is an input's name or index.
Result<Value> set_input(Executor& executor, const Call& call);
Result<Value> set_input_zero_copy(Executor& executor, const Call& call);
Result<Value> get_input(Executor& executor, const Call& call);
Result<Value> get_input_index(Executor& executor, const Call& call);
Result<Value> get_num_inputs(Executor& executor, const Call& call);
Result<Value> run_from_inputs(Executor& executor, const Call& call);

// Defined in outputs.cpp. A key is "<node>:<output>", "<node>", or the output's index.
Result<Value> set_output_zero_copy(Executor& executor, const Call& call);
Result<Value> get_output(Executor& executor, const Call& call);
Result<Value> get_num_outputs(Executor& executor, const Call& call);

// Defined in params.cpp.
Result<Value> load_params(Executor& executor, const Call& call);
Result<Value> share_params(Executor& executor, const Call& call);

// Defined in info.cpp.
Result<Value> get_input_info(Executor& executor, const Call& call);
Result<Value> get_output_info(Executor& executor, const Call& call);

// Defined in debug.cpp, for executors from debug_create only.
Result<Value> debug_get_output(Executor& executor, const Call& call);
Result<Value> profile(Executor& executor, const Call& call);

// Returns the index of the input that a key names.
//
// returns  NOT_FOUND  no input has the name; the text lists the inputs
//          INVALID    the index is out of range, or the key is neither a name nor an index
Result<std::uint32_t> input_of(const Executor& executor, const Call& call, const gantry_value& key);

// Returns the graph's name of an output; if it has none, "<node>", or "<node>:<output>" if the node
// has several outputs.
std::string output_name(const Graph& graph, std::size_t output);

// Return texts such as: input "x" float32[2, 2].
std::string input_title(const Executor& executor, std::uint32_t input);
std::string output_title(const Executor& executor, std::uint32_t output);

// Returns the index that a key is.
//
// what     [in]   for messages: "input"
// returns  INVALID  the index is not below `count`, or the key is not an integer
Result<std::uint32_t> index_of(const Call& call, const gantry_value& key, std::string_view what,
                               std::size_t count);

// Returns the first names, for messages; "none" if there are none.
//
// name_of  [in]   a text of name_of(std::size_t)
template <class NameOf>
std::string list_names(std::size_t count, NameOf&& name_of) {
  constexpr std::size_t max = 16;
  std::string names;
  for (std::size_t i = 0; i < count && i < max; ++i)
    names += concat(i == 0 ? "" : ", ", quoted(name_of(i)));
  if (count > max) names += concat(", ... (", count, " in all)");
  return names.empty() ? "none" : names;
}

// Checks that an entry may be bound to a tensor for a key. A value has one memory: if another input
// or output of the same value is bound, a second binding would silently replace the first.
//
// binding  [in]   the input or output to bind
// returns  INVALID  see Memory::check_fits(); another key is bound; the text names it (ZERO_COPY)
Status check_binding(const Executor& executor, std::uint32_t entry, const gantry_tensor& tensor,
                     Binding binding);

// Returns a module that owns an executor.
//
// parent   [in]   kept alive by the new module
Result<Value> new_executor_module(std::unique_ptr<Executor> executor, gantry_object* parent);

}  // namespace gantry::graph
