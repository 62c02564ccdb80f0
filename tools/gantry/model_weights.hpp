// SPDX-License-Identifier: Apache-2.0
//
// Weights as inputs of a model: --weights.
//
//     GANTRY_TRY(const ModelWeights weights, ModelWeights::open("model.weights"));
//     GANTRY_TRY(const InputValues values, weights.load(runtime, model, "cpu"));
//     GANTRY_CHECK(set_values(model, values));
#pragma once

#include "tools/gantry/common/weight_names.hpp"
#include "tools/gantry/model_input.hpp"

#include "core/formats/weight_directory.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gantry::cli {

// A directory with an index and shards, or a file of named arrays: .npz, or .params, as TVM's
// save_param_dict() writes it.
class ModelWeights {
 public:
  // Reads the index of a directory, the headers of a file.
  //
  // returns  as WeightDirectory::open(), ArrayFile::parse() and WeightNames::of_file()
  static Result<ModelWeights> open(const std::string& path);

  // The values of a model's inputs:
  //  - of an input whose name is that of a weight, where compilers replace "." and other characters
  //    by "_": the weight
  //  - of an input that is a tuple: the weights that the model's metadata list, in their order;
  //    without such a list, the weights param_0, param_1 and so on
  //
  // device   [in]   where tensors are loaded
  // returns  none for each other input; invalid, listing the inputs, if no input has a value, if the
  //          weights of one are not determined, or if one is not as the metadata state; as
  //          parse_model_metadata(), or the error of the function that returns the metadata; errors
  //          of the directory or file
  Result<InputValues> load(const Runtime& runtime, const Session& model,
                           const std::string& device) const;

  // The file, or the index of a directory and the shards that it lists.
  std::vector<std::filesystem::path> files() const;

 private:
  ModelWeights(std::string path, WeightNames names, std::optional<WeightDirectory> directory)
      : path_(std::move(path)), names_(std::move(names)), directory_(std::move(directory)) {}

  std::string path_;
  WeightNames names_;
  // nullopt: a file
  std::optional<WeightDirectory> directory_;
};

}  // namespace gantry::cli
