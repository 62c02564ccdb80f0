// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/executor.hpp - one executor of a graph, with the memory that it has for inputs and
// outputs. For tests and tools; programs use models. gantry/embed.hpp does not include it.
//
//     auto executor = gantry::Executor::create(runtime, module, {"cpu"});
//     auto outputs = executor->run({{"x", x}});
#pragma once

#include <gantry/embed/runtime.hpp>
#include <gantry/quoted.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
inline namespace embed_api {

// Several executors may share one module.
//
// thread   one at a time for each executor
class Executor {
 public:
  // Calls a graph's factory function.
  //
  // model    [in]   has the function, itself or in its imports
  // devices  [in]   "cpu", "opencl:1"; at least one. The first runs the parts of the graph that
  //                 name no device
  // factory  [in]   the function's name; "default" in files of TVM's exporter. "cuda_graph_create":
  //                 the device records the second run and replays it in later runs; UNSUPPORTED if
  //                 a device cannot record
  static Result<Executor> create(const Runtime& runtime, const Module& model,
                                 std::span<const std::string> devices,
                                 std::string_view factory = "default") {
    if (!model) return invalid("module handle is empty, expected a model");
    if (devices.empty()) return invalid("executor has 0 devices, minimum is 1");
    auto make = model.function(factory);
    if (!make.ok())
      return std::move(make).failure().at("while making an executor of ", key_of(model));
    auto made = made_for(runtime, *make, devices);
    if (!made.ok())
      return std::move(made).failure().at("while making an executor with ", quoted(factory));
    return wrap(std::move(*made));
  }
  static Result<Executor> create(const Runtime& runtime, const Module& model,
                                 std::initializer_list<std::string> devices,
                                 std::string_view factory = "default") {
    return create(runtime, model, std::span(devices.begin(), devices.size()), factory);
  }
  // Creates a handle. Looks the executor's functions up once.
  //
  // made     [in]   the module that a factory function returned
  static Result<Executor> wrap(Module made) {
    if (!made) return invalid("module handle is empty, expected an executor");
    Executor executor;
    const struct {
      const char* name;
      Function* function;
    } wanted[] = {{"set_input", &executor.set_input_},
                  {"run", &executor.run_},
                  {"get_output", &executor.output_},
                  {"get_num_outputs", &executor.output_count_}};
    for (const auto& [name, function] : wanted) {
      auto found = made.function(name);
      if (!found.ok()) {
        return std::move(found).failure().at("while looking for an executor's functions in ",
                                             key_of(made));
      }
      *function = std::move(*found);
    }
    executor.module_ = std::move(made);
    return executor;
  }

  Status set_input(const std::string& name, const Tensor& tensor) {
    GANTRY_CHECK(set_input_(name, tensor));
    return {};
  }
  Status run() {
    GANTRY_CHECK(run_());
    return {};
  }
  // Sets the inputs, runs, and returns every output in order.
  using Input = std::pair<std::string, Tensor>;
  Result<std::vector<Tensor>> run(std::span<const Input> inputs) {
    for (const auto& [name, tensor] : inputs) GANTRY_CHECK(set_input(name, tensor));
    GANTRY_CHECK(run());
    GANTRY_TRY(const std::int64_t count, output_count());
    std::vector<Tensor> outputs;
    for (std::int64_t i = 0; i < count; ++i) {
      GANTRY_TRY(outputs.emplace_back(), output(i));
    }
    return outputs;
  }
  Result<std::vector<Tensor>> run(std::initializer_list<Input> inputs) {
    return run(std::span(inputs.begin(), inputs.size()));
  }
  // Returns an output. The tensor is the executor's own memory, which the next run() overwrites.
  Result<Tensor> output(std::int64_t index) const {
    GANTRY_TRY(const Any made, output_(index));
    return made.tensor();
  }
  Result<std::int64_t> output_count() const {
    GANTRY_TRY(const Any count, output_count_());
    return count.integer();
  }
  const Module& module() const { return module_; }

 private:
  Executor() = default;
  static std::string key_of(const Module& module) {
    auto key = module.type_key();
    return key.ok() ? std::move(*key) : std::string("a module");
  }
  static Result<Module> made_for(const Runtime& runtime, const Function& make,
                                 std::span<const std::string> devices) {
    std::vector<gantry_value> args;
    for (const std::string& name : devices) {
      GANTRY_TRY(const gantry_device_id id, runtime.device(name));
      args.push_back(device_value(id));
    }
    GANTRY_TRY(const Any made, make.call(args));
    return made.module();
  }

  Module module_;
  Function set_input_, run_, output_, output_count_;
};

}  // namespace embed_api
}  // namespace gantry
