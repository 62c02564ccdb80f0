// SPDX-License-Identifier: Apache-2.0
//
// A model: functions with inputs and outputs by name. A graph is a model of one function; the code
// of a virtual machine has any number. The functions of an archive of several models are the models.
//
//     auto model = runtime.model(*module, {"cpu"});
//     auto embed = model->function("embed");
//     embed->set_input("ids", *ids);
//     embed->run();
//     auto y = embed->output("output");
#pragma once

#include <gantry/result.hpp>
#include <gantry/runtime/any.hpp>
#include <gantry/runtime/module.hpp>
#include <gantry/runtime/tensor.hpp>
#include <gantry/tensor_type.hpp>
#include "core/engine/runtime/model_state.hpp"

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

struct NamedValue {
  std::string name;
  Any value;
};

// Returns the items of nested tuples in order, named `base`, or `base0`, `base1` and so on if there
// are several.
//
// returns  exhausted  too many items
Result<std::vector<NamedValue>> named_items(const Any& value, std::string_view base);

struct ModelOptions {
  // The device records the second run and replays it in later runs (CUDA graphs); of graphs only.
  bool capture = false;
};

// A function of a model, with values for its inputs. A handle: copies share the values.
//
// thread   one at a time for all functions of a model
class ModelFunction {
 public:
  const std::string& name() const;
  // For messages: "the model" for a graph, "function "prefill"" for a virtual machine.
  std::string subject() const;
  // Returns the inputs in order, without the parameters that a graph contains.
  std::span<const InputInfo> inputs() const;
  // Returns the virtual machine or the executor that runs it.
  Module module() const;
  // Returns the index of the input with a name, or at the position that is its name.
  //
  // returns  invalid  no such input; suggests near names
  Result<std::size_t> input(std::string_view name) const;

  // Copies the content of a tensor to the function's first device. The input keeps it for all
  // further runs.
  //
  // index    [in]   in inputs()
  // tensor   [in]   on any device
  // returns  invalid  no such input; a graph also checks dtype and shape, a virtual machine when it
  //                   runs
  Status set_input(std::size_t index, const Tensor& tensor);
  Status set_input(std::string_view name, const Tensor& tensor);
  // Passes a value as it is: tensors, tuples, shapes, numbers, texts, functions and objects such as
  // caches. A graph copies the content, which must be a tensor.
  //
  // value    [in]   its tensors are on the first device; compiled code changes those that it writes
  Status set_value(std::size_t index, const Any& value);
  Status set_value(std::string_view name, const Any& value);

  // Runs the function. On devices other than the CPU the work may still be queued.
  //
  // returns  invalid  an input of a virtual machine's function is not set; the error of the function
  Status run();
  // Sets these inputs, runs, and returns the outputs.
  Result<std::vector<NamedValue>> run(std::span<const std::pair<std::string, Tensor>> inputs);
  Result<std::vector<NamedValue>> run(
      std::initializer_list<std::pair<std::string, Tensor>> inputs) {
    return run(std::span(inputs.begin(), inputs.size()));
  }

  // Returns the outputs of the last run in order, those of tuples one by one: with the names that
  // the file contains, otherwise "output", or "output0", "output1" and so on.
  //
  // lifetime the next run overwrites tensors of a graph
  Result<std::vector<NamedValue>> outputs() const;
  // returns  not_found, listing the outputs
  Result<Any> output(std::string_view name) const;

 private:
  friend class Model;
  explicit ModelFunction(std::shared_ptr<FunctionState> state) : state_(std::move(state)) {}
  Status check_index(std::size_t index) const;

  std::shared_ptr<FunctionState> state_;
};

// An executor or a virtual machine on some devices. A handle: copies share it. Several models may
// share one module.
//
// thread   one at a time for each model
class Model {
 public:
  // Returns the names of its functions, sorted. That of a graph is the name of the model in the
  // file, "default"; of an archive of several models, the names of the models.
  const std::vector<std::string>& functions() const;
  // Returns a function without values for its inputs. For a graph it creates an executor.
  //
  // name     [in]   empty: "main" of a virtual machine, "default" of graphs, or the only function
  //                 whose name does not begin with "_", as "_metadata" does; none of several models
  // returns  not_found, reason FUNCTION, listing the functions, or ARCHIVE_MODEL, listing the models; the error of creating the executor
  // costs    reads the types of the inputs from the file: the first time for each model
  Result<ModelFunction> function(std::string_view name = {}) const;
  // Returns the virtual machine, whose functions take arguments by position; for a graph, the
  // module that was given.
  Module module() const;

 private:
  friend class Runtime;
  explicit Model(std::shared_ptr<ModelState> state) : state_(std::move(state)) {}
  std::shared_ptr<ModelState> state_;
};

}  // namespace gantry
