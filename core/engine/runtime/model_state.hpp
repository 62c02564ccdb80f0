// SPDX-License-Identifier: Apache-2.0
//
// What the handles of gantry/runtime/model.hpp refer to: one implementation for graphs and one for
// virtual machines.
#pragma once

#include <gantry/runtime.hpp>

#include "core/formats/payload_layout.hpp"

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

class FunctionState;

// The inputs of a call that the function cannot use where they are.
struct InputCopies {
  // false: they are refused
  bool are_allowed = true;
  // of those that were copied
  std::uint64_t bytes = 0;

  // Counts an input that is to be copied.
  //
  // index    [in]   in the inputs of the function
  // returns  invalid, reason COPY_REQUIRED
  Status add(const FunctionState& function, std::size_t index, const gantry_value& value);
};

// See ModelFunction.
class FunctionState {
 public:
  FunctionState(std::string function, std::vector<InputInfo> parameters, Module runner)
      : name(std::move(function)), inputs(std::move(parameters)), module(std::move(runner)) {}
  virtual ~FunctionState() = default;

  virtual std::string subject() const = 0;
  // Precondition of both: index < inputs.size().
  virtual Status set_tensor(std::size_t index, const Tensor& tensor) = 0;
  virtual Status set_value(std::size_t index, const Any& value) = 0;
  virtual Status run() = 0;
  virtual Result<std::vector<NamedValue>> outputs() const = 0;

  // Runs the function with a value for each input. Keeps none of them beyond forget().
  //
  // values   [in]   inputs.size(), valid until forget(); tensors are compact and have the dtypes and
  //                 shapes of the inputs
  // env      [in]   see Function::call
  // copies   [in,out] counts the tensors that the function does not use in place
  virtual Status call(std::span<const gantry_value> values, const gantry_env* env,
                      InputCopies& copies) = 0;
  // Releases the inputs and outputs of the last run, unless they are memory of the function.
  virtual void forget() = 0;
  // True if outputs() returns memory of the function, which the next run writes.
  virtual bool reuses_outputs() const = 0;
  // Returns the outputs that the file states; nullopt if it does not state them.
  virtual Result<std::optional<std::vector<InputInfo>>> stated_outputs() const = 0;

  std::string name;
  const std::vector<InputInfo> inputs;
  const Module module;
};

// See Model.
class ModelState {
 public:
  // names    [in]   of the functions, in any order
  // unnamed  [in]   see `default_function`
  ModelState(Module made, std::vector<std::string> names, std::string unnamed);
  virtual ~ModelState() = default;

  // See Model::function.
  virtual Result<std::shared_ptr<FunctionState>> chosen(std::string_view name);
  // name     [in]   one of `functions`
  virtual Result<std::shared_ptr<FunctionState>> function(const std::string& name) = 0;
  // Returns how errors list a function: its name, or "prefill(x, kv)".
  virtual std::string text_of(const std::string& name) const;

  // See Model::module.
  const Module module;
  // sorted
  const std::vector<std::string> functions;
  // the function that an empty name selects, if there is one of this name
  const std::string default_function;
};

// Returns the virtual machine or the graphs of a module, or the models of an archive.
//
// layouts  [in]   of the runtime
Result<std::shared_ptr<ModelState>> model_state(Runtime runtime, const Module& module,
                                                const PayloadLayouts& layouts,
                                                std::span<const std::string> devices,
                                                const ModelOptions& options);

// See ModelFunction::input. An error has the reason INPUT.
Result<std::size_t> input_index(const FunctionState& function, std::string_view name);

// Returns the inputs for messages: "x float32[1, 64], y int32[4]", or "none".
std::string inputs_text(std::span<const InputInfo> inputs);

// Returns the size of a tensor in bytes; 0 for other values.
std::uint64_t tensor_size(const gantry_value& value);

// Calls a function that creates an executor or a virtual machine from devices.
//
// names    [in]   of the devices, at least one; see Runtime::executor
Result<Module> made_for(Runtime& runtime, const Function& make, std::span<const std::string> names);

}  // namespace gantry
