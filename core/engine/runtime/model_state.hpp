// SPDX-License-Identifier: Apache-2.0
//
// A model: functions with inputs and outputs by name. A graph is a model of one function; the code
// of a virtual machine has any number. The functions of an archive of several models are the models.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/formats/payload_layout.hpp"

#include <gantry/function.h>
#include <gantry/parameter_info.hpp>
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

struct RuntimeState;

using NamedOutput = NamedItem<Value>;

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

// A function of a model, on the devices of the model.
//
// thread   one at a time for all functions of a model
class FunctionState {
 public:
  FunctionState(std::string function, std::vector<ParameterInfo> parameters, Ref<ModuleNode> runner,
                gantry_device_id first)
      : name(std::move(function)),
        inputs(std::move(parameters)),
        module(std::move(runner)),
        device(first) {}
  virtual ~FunctionState() = default;

  // For messages: "the model" for a graph, "function "prefill"" for a virtual machine.
  virtual std::string subject() const = 0;
  // Returns the outputs of the last run in order, those of tuples one by one: with the names that
  // the file contains, otherwise "output", or "output0", "output1" and so on.
  virtual Result<std::vector<NamedOutput>> outputs() const = 0;

  // Runs the function with a value for each input. Keeps none of them beyond forget().
  //
  // values   [in]   inputs.size(), valid until forget(); tensors are compact and have the dtypes and
  //                 shapes of the inputs
  // env      [in]   device, stream and task; may be NULL
  // copies   [in,out] counts the tensors that the function does not use in place
  virtual Status call(std::span<const gantry_value> values, const gantry_env* env,
                      InputCopies& copies) = 0;
  // Releases the inputs and outputs of the last run, unless they are memory of the function.
  virtual void forget() = 0;
  // True if outputs() returns memory of the function, which the next run writes.
  virtual bool reuses_outputs() const = 0;
  // Returns the outputs that the file states; nullopt if it does not state them.
  virtual Result<std::optional<std::vector<ParameterInfo>>> stated_outputs() const = 0;

  std::string name;
  // in order, without the parameters that a graph contains
  const std::vector<ParameterInfo> inputs;
  // the virtual machine or the executor that runs it
  const Ref<ModuleNode> module;
  // the first one of the model
  const gantry_device_id device;
};

// An executor or a virtual machine on some devices.
//
// thread   one at a time for each model
class ModelState {
 public:
  // names    [in]   of the functions, in any order
  // unnamed  [in]   see `default_function`
  ModelState(Ref<ModuleNode> made, std::vector<std::string> names, std::string unnamed);
  virtual ~ModelState() = default;

  // Returns a function. For a graph it creates an executor.
  //
  // name     [in]   empty: "main" of a virtual machine, "default" of graphs, or the only function
  //                 whose name does not begin with "_", as "_metadata" does; none of several models
  // returns  not_found, reason FUNCTION, listing the functions, or ARCHIVE_MODEL, listing the models;
  //          the error of creating the executor
  // costs    reads the types of the inputs from the file: the first time for each model
  virtual Result<std::shared_ptr<FunctionState>> chosen(std::string_view name);
  // name     [in]   one of `functions`
  virtual Result<std::shared_ptr<FunctionState>> function(const std::string& name) = 0;
  // Returns how errors list a function: its name, or "prefill(x, kv)".
  virtual std::string text_of(const std::string& name) const;

  // the virtual machine, whose functions take arguments by position; for a graph, the module that was
  // given
  const Ref<ModuleNode> module;
  // Sorted. That of a graph is the name of the model in the file, "default"; of an archive of several
  // models, the names of the models.
  const std::vector<std::string> functions;
  // the function that an empty name selects, if there is one of this name
  const std::string default_function;
};

// What a model is made of.
struct ModelSource {
  std::shared_ptr<RuntimeState> runtime;
  // has the executable or the graph, itself or in its imports
  Ref<ModuleNode> module;
  // "cpu", "opencl:1"; at least one. Code of virtual machines runs on the first; the CPU, where the
  // code requires it as well, is added
  std::vector<std::string> devices;
  // the device records the second run and replays it in later runs (CUDA graphs); of graphs only
  bool capture = false;
};

// Returns the virtual machine or the graphs of a module, or the models of an archive.
//
// returns  not_found: the module has neither; unsupported: the model cannot be recorded; the errors
//          of the plugin
Result<std::shared_ptr<ModelState>> model_state(const ModelSource& source);

// Returns the index of the input with a name, or at the position that is its name.
//
// subject  [in]   of the function
// returns  invalid, reason INPUT; suggests near names
Result<std::size_t> input_index(std::string_view subject, std::span<const ParameterInfo> inputs,
                                std::string_view name);
inline Result<std::size_t> input_index(const FunctionState& function, std::string_view name) {
  return input_index(function.subject(), function.inputs, name);
}

// Returns the inputs for messages: "x float32[1, 64], y int32[4]", or "none".
std::string inputs_text(std::span<const ParameterInfo> inputs);

// Returns the size of a tensor in bytes; 0 for other values.
std::uint64_t tensor_size(const gantry_value& value);

// Calls a function that creates an executor or a virtual machine from devices.
//
// names    [in]   of the devices, at least one
Result<Ref<ModuleNode>> made_for(RuntimeState& runtime, FunctionObject& make,
                                 std::span<const std::string> names);

}  // namespace gantry
