// SPDX-License-Identifier: Apache-2.0
//
// Finds the weights of a directory or a file that are the inputs of a model, by name.
#pragma once

#include "tools/gantry/common/model_metadata.hpp"

#include "core/formats/arrays/array_file.hpp"
#include "core/formats/weight_directory.hpp"

#include <gantry/result.hpp>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::cli {

class WeightNames {
 public:
  explicit WeightNames(const WeightDirectory& directory);
  // Of named arrays.
  //
  // path     [in]   of the file, for messages
  // returns  invalid: an array without a name; as ArrayFile::header()
  static Result<WeightNames> of_file(const std::string& path, const ArrayFile& file);

  // Returns the weight of an input: the one of its name, or the one from whose name compilers make
  // it, with "_" in place of "." and other characters. Empty if there is none.
  //
  // type     [in]   of the input, if it is known, with its text for errors
  // returns  invalid  several weights have the input's name as their variable, or the weight has
  //                   another shape or dtype
  Result<std::string> of_input(std::string_view input, const std::optional<TensorType>& type,
                               std::string_view type_text) const;

  // Returns the weights of a tuple: those of the model's metadata in their order.
  //
  // returns  invalid  a weight is absent, or has another shape or dtype
  Result<std::vector<std::string>> of_params(std::span<const ModelParam> params) const;

  // Returns "param_0", "param_1" and so on, until the first that is absent.
  std::vector<std::string> numbered() const;

  // `"fc1.bias", "fc1.weight" and 7 more`, or "none".
  std::string text() const;

  // "directory" or "file"
  std::string_view place() const { return place_; }

 private:
  WeightNames(std::string path, std::string_view place) : path_(std::move(path)), place_(place) {}
  void add(std::string_view name, TensorType type);
  // Of errors: ": select the directory of weights that was made for this model".
  std::string advice() const;
  // The weight of an input of any type.
  Result<std::string> find(std::string_view input) const;
  // Checks the type of a weight that is in the directory.
  //
  // expected [in]   the type as text, and where it is from, for the error
  Status check_type(std::string_view name, const TensorType& type, std::string_view expected) const;

  std::string path_;
  std::string_view place_;
  // of a name, the last one
  std::map<std::string, TensorType, std::less<>> types_;
  // by the name of the variable, in the order of the index or file
  std::multimap<std::string, std::string> by_variable_;
};

}  // namespace gantry::cli
