// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>
#include <gantry/runtime/module.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

// A graph executor. Several executors may share one module.
//
// thread   one at a time for each executor
class Executor {
 public:
  // Creates a handle. Looks the executor's functions up once.
  //
  // made     [in]   the module that a factory function returned
  static Result<Executor> wrap(Module made);

  Status set_input(const std::string& name, const Tensor& tensor);
  Status run();
  // Sets the inputs, runs, and returns every output in order.
  Result<std::vector<Tensor>> run(std::span<const std::pair<std::string, Tensor>> inputs);
  Result<std::vector<Tensor>> run(std::initializer_list<std::pair<std::string, Tensor>> inputs) {
    return run(std::span(inputs.begin(), inputs.size()));
  }
  // Returns an output. The tensor is the executor's own memory, which the next run() overwrites.
  Result<Tensor> output(std::int64_t index) const;
  Result<std::int64_t> output_count() const;
  const Module& module() const { return module_; }

 private:
  Module module_;
  Function set_input_, run_, output_, output_count_;
};

}  // namespace gantry
