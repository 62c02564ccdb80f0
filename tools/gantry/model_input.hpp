// SPDX-License-Identifier: Apache-2.0
//
// What an executor wants to be given, and files that give it.
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
  std::string dtype;
  std::vector<std::int64_t> shape;
};

// Inputs that no parameter fills, in the model's order.
//
// returns  malformed where the executor answers in another form than TVM's get_input_info
Result<std::vector<InputInfo>> inputs_of(const Executor& executor);

// "x float32[1, 64], y int32[4]", or "none".
std::string describe(std::span<const InputInfo> inputs);

struct ModelInput {
  std::string name;
  // on the CPU; with `each` one more first axis
  Tensor tensor;
};

// Reads the files and matches them with what is wanted.
//
// each     the first axis is a list of inputs: all have it, of one length
// returns  in the order of `wanted`; invalid, listing the inputs with their types, where one is not
//          given, is given twice, is not wanted, or has another type or shape; what reading says
Result<std::vector<ModelInput>> read_inputs(Runtime& runtime, std::span<const NamedFile> files,
                                            std::span<const InputInfo> wanted, bool each);

}  // namespace gantry::cli
