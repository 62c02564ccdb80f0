// SPDX-License-Identifier: Apache-2.0
//
// The inputs of a model, and the files that they are read from.
#pragma once

#include "tools/gantry/model.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

// An input that is not a parameter.
struct ModelInput {
  // in Session::inputs()
  std::size_t index = 0;
  std::string name;
  // on the CPU; with `each`, it has an additional first axis
  Tensor tensor;
};

// The values of a model's inputs; none for an input without one. Empty: no input has one.
using InputValues = std::vector<Any>;

// Reads the files and matches them with the inputs of a model.
//
// files    [in]   see InputSpec in arg_spec.hpp
// each     [in]   every file has an additional first axis, a list of inputs; all have the same
//                 length
// values   [in]   inputs that have a value need no file; a file replaces the value
// returns  the inputs that files set, in the model's order; invalid, listing the inputs with their
//          types, if an input is missing, duplicate, unknown, no tensor, or has another type or
//          shape; errors of reading a file
Result<std::vector<ModelInput>> read_inputs(const Runtime& runtime, const Session& model,
                                            std::span<const std::string> files, bool each,
                                            const InputValues& values = {});

// Creates zeros for the inputs that have no value.
//
// returns  invalid, listing the inputs, if the type of one is unknown or has symbolic extents
Result<std::vector<ModelInput>> zero_inputs(const Runtime& runtime, const Session& model,
                                            const InputValues& values = {});

// Sets the inputs of a model that have a value.
Status set_values(Session& model, const InputValues& values);

// Sets the inputs of a model.
//
// row      [in]   index on the additional first axis; nullopt: there is none
Status set_inputs(Session& model, std::span<const ModelInput> inputs,
                  std::optional<std::int64_t> row = {});

}  // namespace gantry::cli
