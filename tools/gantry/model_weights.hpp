// SPDX-License-Identifier: Apache-2.0
//
// Directories of weights as inputs of a model: --weights.
#pragma once

#include "tools/gantry/model.hpp"

#include <gantry/runtime.hpp>

#include <gantry/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace gantry::cli {

// Loads a directory of weights and sets inputs of a model: each input whose name is that of a
// weight, where compilers replace "." and other characters by "_", and the input that is a tuple,
// whose items are the weights param_0, param_1 and so on.
//
// device   [in]   where tensors are loaded
// returns  for each input whether it is set; invalid, listing the inputs, if none is, or if the
//          directory does not determine the value of one; the errors of the directory
Result<std::vector<bool>> set_weights(Runtime& runtime, ModelFunction& model,
                                      const std::string& directory, const std::string& device);

// The index of a directory and the shards that it lists.
Result<std::vector<std::filesystem::path>> weight_files(const std::string& directory);

}  // namespace gantry::cli
