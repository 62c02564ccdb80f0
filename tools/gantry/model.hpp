// SPDX-License-Identifier: Apache-2.0
//
// A model as `run` and `bench` execute it: a function with named inputs and outputs. It is the graph
// of an executor, or a function of a virtual machine.
//
//     GANTRY_TRY(const auto model, make_model(runtime, module, {.devices = {"cpu"}}));
//     GANTRY_CHECK(model->set_input(0, x));
//     GANTRY_CHECK(model->run());
//     GANTRY_TRY(const auto outputs, model->outputs());
#pragma once

#include "tools/gantry/common/annotation.hpp"
#include "tools/gantry/outputs.hpp"

#include <gantry/runtime.hpp>

#include <gantry/result.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

struct InputInfo {
  std::string name;
  // nullopt: the artifact does not contain it
  std::optional<TensorType> type;
  // "float32[n, 64]", "R.Shape([n])"; empty: unknown
  std::string type_text;
  // false: a tuple, a shape or a number
  bool is_tensor = true;
  bool is_tuple = false;
};

// "x float32[1, 64], y int32[4]", or "none".
std::string described(std::span<const InputInfo> inputs);

// thread   one at a time
class Model {
 public:
  virtual ~Model() = default;

  // Of the function of a virtual machine; empty for a graph.
  virtual std::string_view name() const = 0;
  // For messages: "the model", "function "prefill"".
  std::string subject() const;
  virtual std::span<const InputInfo> inputs() const = 0;
  // input    [in]   index in inputs()
  // tensor   [in]   on the CPU
  virtual Status set_input(std::size_t input, const Tensor& tensor) = 0;
  // value    [in]   its tensors are on the first device
  virtual Status set_value(std::size_t input, const Any& value) = 0;
  virtual Status run() = 0;
  // Returns the outputs of the last run in order, those of tuples one by one.
  //
  // lifetime tensors may be overwritten by the next run
  virtual Result<std::vector<NamedValue>> outputs() const = 0;
};

struct ModelOptions {
  // at least one
  std::vector<std::string> devices;
  // of a virtual machine; empty: its only function, or "main"
  std::string function;
  // see capture_factory
  bool capture = false;
};

// returns  not_found, listing the models or functions of the file; invalid for an option that the
//          model does not have; errors of creating it
Result<std::unique_ptr<Model>> make_model(Runtime& runtime, const Module& module,
                                          const ModelOptions& options);

}  // namespace gantry::cli
