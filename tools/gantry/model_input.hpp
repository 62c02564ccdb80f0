// SPDX-License-Identifier: Apache-2.0
//
// The inputs of an executor, and the files that they are read from.
#pragma once

#include "tools/gantry/common/arg_spec.hpp"

#include <gantry/runtime.hpp>

#include <gantry/result.hpp>

#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

struct InputInfo {
  std::string name;
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
};

// The inputs that are not parameters, in the model's order.
//
// returns  malformed if get_input_info returns another structure than TVM's
Result<std::vector<InputInfo>> inputs_of(const Executor& executor);

// "x float32[1, 64], y int32[4]", or "none".
std::string describe(std::span<const InputInfo> inputs);

struct ModelInput {
  std::string name;
  // on the CPU; with `each`, it has an additional first axis
  Tensor tensor;
};

// Reads the files and matches them with the inputs of a model.
//
// each     every file has an additional first axis, a list of inputs; all have the same length
// returns  inputs in the order of `wanted`; invalid, listing the inputs with their types, if an
//          input is missing, duplicate, unknown, or has another type or shape; errors of reading a
//          file
Result<std::vector<ModelInput>> read_inputs(Runtime& runtime, std::span<const NamedFile> files,
                                            std::span<const InputInfo> wanted, bool each);

}  // namespace gantry::cli
