// SPDX-License-Identifier: Apache-2.0
//
// What an input of a model accepts, from the type that the model states.
#pragma once

#include <gantry/parameter_info.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

struct InputType {
  // `any`: another kind, or not stated
  enum class Kind { tensor, tuple, shape, integer, number, truth, any };
  Kind kind = Kind::any;
  // of a tensor; nullopt: not stated
  std::optional<gantry_dtype> dtype;
  // of a tensor with a dtype, or of a shape; -1: free. nullopt: not stated
  std::optional<std::vector<std::int64_t>> shape;
  // The text of each extent that has one, in `shape`: "n", "2 * n".
  std::vector<std::string> extents;
  // of a tuple; nullopt: not stated
  std::optional<std::vector<InputType>> items;
  // for messages: "float32[n, 64]", "R.Shape([n])"; empty: not stated
  std::string text;

  // The text of an extent; empty: a number, or a free extent without a name.
  std::string_view extent(std::size_t axis) const {
    return axis < extents.size() ? std::string_view(extents[axis]) : std::string_view();
  }
};

InputType input_type(const ParameterInfo& input);

}  // namespace gantry::cli
