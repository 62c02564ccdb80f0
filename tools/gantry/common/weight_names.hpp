// SPDX-License-Identifier: Apache-2.0
//
// Finds the weights of a directory that are the inputs of a model, by name.
#pragma once

#include "tools/gantry/common/model_metadata.hpp"

#include "core/format/weight_directory.hpp"

#include <gantry/result.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

class WeightNames {
 public:
  // lifetime the directory must outlive this
  explicit WeightNames(const WeightDirectory& directory);

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

 private:
  // The weight of an input of any type.
  Result<std::string> find(std::string_view input) const;
  // Checks the type of a weight that is in the directory.
  //
  // expected [in]   the type as text, and where it is from, for the error
  Status check_type(std::string_view name, const TensorType& type, std::string_view expected) const;

  const WeightDirectory& directory_;
  // of a name, the last one
  std::map<std::string_view, const WeightRecord*> records_;
  // by the name of the variable, in the order of the index
  std::multimap<std::string, std::string_view> by_variable_;
};

}  // namespace gantry::cli
