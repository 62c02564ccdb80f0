// SPDX-License-Identifier: Apache-2.0
//
// A graph as a model (gantry/model.h): one function, whose executors use memory of callers in place.
//
//     run(x) -> y     the cells of x and y point to the callers' memory, then the operators run
//     own memory      is passed to for inputs that are elsewhere, and is written for outputs that
//                     are inputs or parameters
#pragma once

#include "executor.hpp"

#include <gantry/model.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gantry::graph {

// Returns the inputs of a graph that are no parameters: by index, in order.
//
// returns  codes of the look-up of constants that v0.8 linked into the library
Result<std::vector<std::uint32_t>> model_inputs(const Source& source, const gantry_env* env);

// Returns the inputs and outputs of a graph.
//
// inputs   [in]   of model_inputs()
std::unique_ptr<const Signature> signature_of(const Graph& graph,
                                              std::span<const std::uint32_t> inputs);

// Runs a graph with inputs by position.
class ModelExecutor {
 public:
  // inputs      [in]   of model_inputs(), as long as this object
  // is_capturing [in]  runs are recorded: no memory is replaced
  ModelExecutor(std::unique_ptr<Executor> executor, std::span<const std::uint32_t> inputs,
                bool is_capturing);

  Result<const Placements*> placements(std::uint32_t) { return &placements_; }
  Status run(const gantry_env& env, ExecutorRun& run);

 private:
  struct Output {
    std::uint32_t entry = 0;
    // its memory of the executor
    void* own = nullptr;
    // no operator writes it, or another output has its memory: targets are filled with a copy
    bool is_copied = false;
  };
  Memory& memory() { return executor_->memory(); }

  const std::unique_ptr<Executor> executor_;
  const std::span<const std::uint32_t> inputs_;
  // by input: its memory of the executor
  std::vector<gantry_tensor> own_;
  std::vector<Output> outputs_;
  Placements placements_;
};

}  // namespace gantry::graph
