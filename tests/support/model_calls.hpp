// SPDX-License-Identifier: Apache-2.0
//
// Calls a model and its executors through the tables of gantry.model/1, as a host does:
//
//     ModelCalls model(module);                       // of a class with a module_table
//     const auto executor = model.executor({cpu}).value();
//     const Value array = executor->run(0, {x}).value();          // all outputs
//     std::vector<Value> outputs(1);
//     executor->run(0, {x}, outputs);                              // one by one
#pragma once

#include <gantry/model.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/module.hpp>
#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry::test {

class ExecutorCalls {
 public:
  explicit ExecutorCalls(gantry_executor made) : made_(made) {}
  ~ExecutorCalls() { made_.table->destroy(made_.self); }
  ExecutorCalls(const ExecutorCalls&) = delete;
  ExecutorCalls& operator=(const ExecutorCalls&) = delete;

  // NULL if there is none
  struct Placed {
    const gantry_placement* inputs = nullptr;
    const gantry_placement* outputs = nullptr;
  };
  Result<Placed> placements(std::uint32_t function) const {
    Placed placed;
    StatusBuffer status;
    const gantry_code code = made_.table->placements(made_.self, function, &placed.inputs,
                                                     &placed.outputs, status.get());
    if (code != GANTRY_OK) return status.error(code, "placements");
    return placed;
  }

  // Returns the array of all outputs.
  Result<Value> run(std::uint32_t function, const std::vector<Value>& inputs) const {
    gantry_executor_run run{};
    GANTRY_CHECK(called(run, function, inputs));
    return Value::adopt(run.result);
  }
  // outputs  [in,out] none: receives the output; a tensor: filled
  Status run(std::uint32_t function, const std::vector<Value>& inputs,
             std::vector<Value>& outputs) const {
    std::vector<gantry_value> given;
    for (const Value& output : outputs) {
      given.push_back(output.tensor() != nullptr ? tensor_ref_value(output.tensor())
                                                 : gantry_value{});
    }
    gantry_executor_run run{};
    run.outputs = given.data();
    run.output_count = static_cast<std::uint32_t>(given.size());
    Status ran = called(run, function, inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].tensor() == nullptr) outputs[i] = Value::adopt(given[i]);
    }
    return ran;
  }

 private:
  Status called(gantry_executor_run& run, std::uint32_t function,
                const std::vector<Value>& inputs) const {
    std::vector<gantry_value> values;
    for (const Value& input : inputs) values.push_back(input.get());
    run.struct_size = sizeof run;
    run.function = function;
    run.inputs = values.data();
    run.input_count = static_cast<std::uint32_t>(values.size());
    const gantry_env env{{1, 0}, nullptr, nullptr, nullptr};
    StatusBuffer status;
    const gantry_code code = made_.table->run(made_.self, &env, &run, status.get());
    if (code != GANTRY_OK) return status.error(code, "run");
    return {};
  }

  const gantry_executor made_;
};

template <class Module>
class ModelCalls {
 public:
  // module   [in]   must outlive this object and its executors
  explicit ModelCalls(Module& module)
      : module_(&module),
        table_(*static_cast<const gantry_model*>(
            module_table<Module>.get_extension(&module, GANTRY_MODEL_1))) {}

  Result<gantry_model_info> info() const {
    gantry_model_info info{};
    info.struct_size = sizeof info;
    StatusBuffer status;
    const gantry_code code = table_.info(module_, &info, status.get());
    if (code != GANTRY_OK) return status.error(code, "info");
    return info;
  }
  std::vector<std::string> functions() const {
    const gantry_model_info found = info().value();
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < found.function_count; ++i)
      names.emplace_back(view_of(found.functions[i]));
    return names;
  }
  const gantry_signature& signature(std::uint32_t function) const {
    const gantry_signature* found = nullptr;
    StatusBuffer status;
    const gantry_code code = table_.signature(module_, function, &found, status.get());
    // ends the test if there is none
    if (code != GANTRY_OK) (void)Result<int>(status.error(code, "signature")).value();
    return *found;
  }
  Result<std::unique_ptr<ExecutorCalls>> executor(const std::vector<gantry_device_id>& devices,
                                                  std::uint32_t flags = 0) const {
    gantry_executor_options options{};
    options.struct_size = sizeof options;
    options.flags = flags;
    options.devices = devices.data();
    options.device_count = static_cast<std::uint32_t>(devices.size());
    const gantry_env env{{1, 0}, nullptr, nullptr, nullptr};
    gantry_executor made{};
    StatusBuffer status;
    const gantry_code code = table_.executor_new(module_, &env, &options, &made, status.get());
    if (code != GANTRY_OK) return status.error(code, "executor_new");
    return std::make_unique<ExecutorCalls>(made);
  }

 private:
  Module* const module_;
  const gantry_model& table_;
};

// The parameters of a signature as texts: "x float32[n, 64] {n, }", with their kinds where they are
// no tensors of a known type.
inline std::vector<std::string> parameter_texts(const gantry_parameter* const* parameters,
                                                std::uint32_t count) {
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < count; ++i) {
    const gantry_parameter& parameter = *parameters[i];
    std::string text(view_of(parameter.name));
    if (parameter.type.size != 0) append(text, {" ", view_of(parameter.type)});
    if (parameter.ndim < 0) append(text, {" kind ", parameter.kind});
    if (parameter.extents != nullptr) {
      text += " {";
      for (std::int32_t axis = 0; axis < parameter.ndim; ++axis)
        append(text, {axis == 0 ? "" : ",", view_of(parameter.extents[axis])});
      text += '}';
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace gantry::test
