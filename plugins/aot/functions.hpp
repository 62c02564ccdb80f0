// SPDX-License-Identifier: Apache-2.0
//
// The functions of an executor's module.
#pragma once

#include "executor.hpp"

#include <gantry/call.hpp>
#include <gantry/handle.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::aot {

// A key is an input's name or index.
Result<Value> set_input(Executor& executor, const Call& call);
Result<Value> set_input_zero_copy(Executor& executor, const Call& call);
Result<Value> get_input(Executor& executor, const Call& call);
Result<Value> get_input_index(Executor& executor, const Call& call);
Result<Value> get_input_name(Executor& executor, const Call& call);
Result<Value> get_num_inputs(Executor& executor, const Call& call);

// A key is an output's name or index.
Result<Value> set_output_zero_copy(Executor& executor, const Call& call);
Result<Value> get_output(Executor& executor, const Call& call);
Result<Value> get_num_outputs(Executor& executor, const Call& call);

Result<Value> get_input_info(Executor& executor, const Call& call);
Result<Value> get_output_info(Executor& executor, const Call& call);

// Returns the index of the tensor that a key names. Compilers replace characters of names that
// identifiers do not have by '_', so a key with such characters matches the name that it has then.
//
// what     [in]   for messages: "input"
// returns  NOT_FOUND  no tensor has the name; the text lists their names
//          INVALID    the index is out of range, or the key is neither a name nor an index
Result<std::size_t> index_of(const Call& call, const gantry_value& key, std::string_view what,
                             const std::vector<AotTensor>& tensors);
// The number of tensors if none has the name.
//
// costs    O(tensors), without an allocation
std::size_t index_of(std::string_view name, const std::vector<AotTensor>& tensors);

// Returns a text such as: input "x" float32[2, 2].
std::string title(std::string_view what, const AotTensor& tensor);

// Binds an argument to the tensor of a call's argument 1.
//
// what     [in]   and tensor: as of title()
Status bind_argument(Executor& executor, const Call& call, std::size_t argument,
                     std::string_view what, const AotTensor& tensor);

// Returns {"shape": {name: shape}, "dtype": {name: text}} of tensors, as the graph executor does.
//
// is_listed  [in]   by index; empty: all are listed
Result<Value> info_of(const Host& host, const std::vector<AotTensor>& tensors,
                      const std::function<bool(std::size_t)>& is_listed = {});

}  // namespace gantry::aot
