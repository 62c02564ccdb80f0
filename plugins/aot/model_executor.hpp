// SPDX-License-Identifier: Apache-2.0
//
// Code that is compiled ahead of time as a model (gantry/model.h): one function, whose executors use
// memory of callers in place.
#pragma once

#include "executor.hpp"

#include <gantry/model.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::aot {

// Returns the inputs that are no parameters: by index, in order.
std::vector<std::size_t> model_inputs(const AotMetadata& metadata,
                                      std::span<const Parameter> parameters);

// Returns the inputs and outputs of a model.
//
// inputs   [in]   of model_inputs()
std::unique_ptr<const Signature> signature_of(const AotMetadata& metadata,
                                              std::span<const std::size_t> inputs);

// Runs a model with inputs by position.
class ModelExecutor {
 public:
  // inputs   [in]   of model_inputs(), as long as this object
  ModelExecutor(std::unique_ptr<Executor> executor, std::span<const std::size_t> inputs);

  Result<const Placements*> placements(std::uint32_t) { return &placements_; }
  Status run(const gantry_env& env, ExecutorRun& run);

 private:
  const std::unique_ptr<Executor> executor_;
  const std::span<const std::size_t> inputs_;
  // by input, and by output: its memory of the executor
  std::vector<gantry_tensor> own_;
  std::vector<void*> own_outputs_;
  Placements placements_;
};

}  // namespace gantry::aot
