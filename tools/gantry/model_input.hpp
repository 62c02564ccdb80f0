// SPDX-License-Identifier: Apache-2.0
//
// The inputs of a model: the options that set them, and their values.
#pragma once

#include "tools/gantry/model.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <CLI/CLI.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// The options --input and --shape. common/input_spec.hpp describes their values.
struct InputOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> shapes;

  bool given() const { return !inputs.empty() || !shapes.empty(); }
  // returns  the files that they read; as parse_input()
  Result<std::vector<std::string>> files() const;
};

// The options of a command.
struct InputOptionsOf {
  CLI::Option* input;
  CLI::Option* shape;
};

// Adds --input and --shape.
//
// missing  [in]   what an input has that no option sets, for the help: "zeros"; empty: an error
InputOptionsOf add_inputs(CLI::App& app, InputOptions& options, std::string_view missing = {});

// An input that is not a parameter.
struct ModelInput {
  // in Session::inputs()
  std::size_t index = 0;
  std::string name;
  // on the CPU; with `has_rows`, it has an additional first axis
  Tensor tensor;
  // of an input that is no tensor: a tuple, a shape or a number
  Any value;
  // One row for each run, of --each. The value of another input is that of all runs.
  bool has_rows = false;
};

// The values of a model's inputs; none for an input without one. Empty: no input has one.
using InputValues = std::vector<Any>;

// What an input has that neither an option nor a value sets.
enum class MissingInput { error, zeros };

// Reads files and makes values, and matches them with the inputs of a model. Extents that the model
// leaves free are those of --shape, of files and of lists of numbers; elements of words follow them.
//
// each     [in]   every file has an additional first axis, a list of inputs; all have the same
//                 length
// values   [in]   inputs that have a value need no option; an option replaces the value
// returns  the inputs that options set, in the model's order
//          invalid      listing the inputs with their types: an input is missing, duplicate,
//                       unknown, of another kind, type, shape or count of numbers; an extent is not
//                       known or contradicts another one; the inputs that are made exceed 16 GiB
//          unsupported  elements of the type cannot be made
//          others       of reading a file
Result<std::vector<ModelInput>> read_inputs(const Runtime& runtime, const Session& model,
                                            const InputOptions& options, bool each,
                                            MissingInput missing, const InputValues& values = {});

// Sets the inputs of a model that have a value.
Status set_values(Session& model, const InputValues& values);

// Sets the inputs of a model.
//
// row      [in]   index on the additional first axis; nullopt: there is none
Status set_inputs(Session& model, std::span<const ModelInput> inputs,
                  std::optional<std::int64_t> row = {});

}  // namespace gantry::cli
