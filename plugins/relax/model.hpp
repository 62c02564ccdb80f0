// SPDX-License-Identifier: Apache-2.0
//
// An executable as a model: its functions, and machines that run them by position.
#pragma once

#include "vm.hpp"

#include <gantry/model.hpp>
#include <gantry/signature.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::relax {

// The functions of an executable that have parameters: all but packed ones.
//
// thread   any
class ModelFunctions {
 public:
  explicit ModelFunctions(std::shared_ptr<const Loaded> code);

  // The order of the functions is that of the file.
  const ModelInfo& info() const { return info_; }
  // function [in]   index in info().functions
  // returns  its index in Program::functions
  std::uint32_t index_of(std::uint32_t function) const { return indices_[function]; }
  // Returns the inputs, and the outputs if each is a tensor of a stated type.
  //
  // lifetime as long as this object
  // costs    reads the constants of the executable, once
  const Signature& signature(std::uint32_t function) const;

 private:
  // Function and parameter; an empty parameter is the result.
  using Place = std::pair<std::string_view, std::string_view>;

  // Reads annotations, and the number of weights.
  void read_constants() const;
  // Returns an empty text if there is none.
  std::string_view annotation_of(const Place& place) const;
  ParameterInfo input_of(const FunctionCode& function, std::size_t parameter) const;
  std::optional<std::vector<ParameterInfo>> outputs_of(const FunctionCode& function) const;

  const std::shared_ptr<const Loaded> code_;
  ModelInfo info_;
  std::vector<std::uint32_t> indices_;
  mutable std::mutex mutex_;
  mutable bool are_constants_read_ = false;
  mutable std::map<Place, std::string_view> annotations_;
  // in the metadata of the model; 0: it has none
  mutable std::size_t weight_count_ = 0;
  // by function; NULL: not made yet
  mutable std::vector<std::unique_ptr<const Signature>> signatures_;
};

// A machine that runs the functions of a model.
//
// thread   one at a time
class Executor {
 public:
  // functions  [in]  must outlive the executor
  Executor(Host host, const ModelFunctions& functions, std::shared_ptr<const Loaded> code)
      : host_(host),
        functions_(functions),
        vm_(host, std::move(code)),
        known_(functions.info().functions.size()) {}

  // returns  as Vm::initialize()
  Status start(std::span<const gantry_device_id> devices, const gantry_env& env) {
    return vm_.initialize(devices, &env);
  }

  // Inputs and stated outputs are on the machine's first device.
  Result<const Placements*> placements(std::uint32_t function);
  Status run(const gantry_env& env, ExecutorRun& run);

 private:
  struct Known {
    const Signature* signature = nullptr;
    Placements placed;
  };
  const Known& known(std::uint32_t function);
  Result<Value> result_of(std::uint32_t function, const gantry_env& env,
                          std::span<const gantry_value> inputs);

  const Host host_;
  const ModelFunctions& functions_;
  Vm vm_;
  // by function
  std::vector<Known> known_;
};

}  // namespace gantry::relax
