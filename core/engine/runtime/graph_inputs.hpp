// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/input_device.hpp"
#include "core/engine/runtime/model_state.hpp"

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry {

// The inputs of an executor of a graph, or of code compiled ahead of time. In one run, each is the
// caller's memory if compiled code accepts it, else a copy in memory of the executor.
class GraphInputs {
 public:
  // in_place [in]   false: tensors are always copied, as recorded runs require
  // returns  codes of the executor
  static Result<GraphInputs> find(std::shared_ptr<RuntimeState> runtime, ModuleNode& executor,
                                  std::span<const ParameterInfo> inputs, bool in_place);

  // Sets an input for one run.
  //
  // value    [in]   a tensor, valid until release(); compact, with the dtype and shape of the input
  // env      [in]   device, stream and task; may be NULL
  // function [in]   whose input it is, for errors
  // copies   [in,out] counts a tensor that is copied
  // returns  also COPY_REQUIRED
  Status set(const FunctionState& function, std::size_t index, const gantry_value& value,
             const gantry_env* env, InputCopies& copies);

  // Ends the use of memory of the callers.
  void release();

 private:
  // Memory of the executor for one input.
  struct Own {
    Value tensor;
    InputDevice device;
  };
  struct Input {
    std::string name;
    // nullopt: tensors are always copied
    std::optional<Own> own;
    bool is_bound = false;
  };

  explicit GraphInputs(std::shared_ptr<RuntimeState> runtime) : runtime_(std::move(runtime)) {}
  static Status assign(FunctionObject& function, const Input& input, const gantry_value& value,
                       const gantry_env* env);

  std::shared_ptr<RuntimeState> runtime_;
  Ref<FunctionObject> set_input_, set_input_zero_copy_;
  std::vector<Input> inputs_;
};

}  // namespace gantry
