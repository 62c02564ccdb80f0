// SPDX-License-Identifier: Apache-2.0
//
// Directories of weights as inputs of a model: --weights.
//
//     GANTRY_TRY(const WeightDirectory directory, WeightDirectory::open("model.weights"));
//     GANTRY_TRY(const InputValues values, load_weights(runtime, *model, directory, "cpu"));
//     GANTRY_CHECK(set_values(*model, values));
#pragma once

#include "tools/gantry/model_input.hpp"

#include "core/format/weight_directory.hpp"

#include <gantry/runtime.hpp>

#include <gantry/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace gantry::cli {

// Loads a directory of weights as values of a model's inputs:
//  - of an input whose name is that of a weight, where compilers replace "." and other characters
//    by "_": the weight
//  - of an input that is a tuple: the weights that the model's metadata list, in their order;
//    without such a list, the weights param_0, param_1 and so on
//
// device   [in]   where tensors are loaded
// returns  none for each other input; invalid, listing the inputs, if no input has a value, if the
//          weights of one are not determined, or if one is not as the metadata state; as
//          parse_model_metadata(), or the error of the function that returns the metadata; errors of the directory
Result<InputValues> load_weights(Runtime& runtime, const ModelFunction& model,
                                 const WeightDirectory& directory, const std::string& device);

// The index of a directory and the shards that it lists.
std::vector<std::filesystem::path> files_of(const WeightDirectory& directory);

}  // namespace gantry::cli
