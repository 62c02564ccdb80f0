// SPDX-License-Identifier: Apache-2.0
//
// An executable as a model: its functions, and machines that run them by position.
#pragma once

#include "machine.hpp"

#include <gantry/model.hpp>
#include <gantry/signature.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gantry::relay {

// The functions of an executable, by index as in Program::functions.
//
// thread   any
class ModelFunctions {
 public:
  ModelFunctions(Host host, std::shared_ptr<const Loaded> code);

  // returns  the error of the host for a device type of the code
  Result<const ModelInfo*> info() const;
  const Program& program() const { return code_->program; }
  // Returns the names of the inputs: executables state nothing else.
  //
  // lifetime as long as this object
  const Signature& signature(std::uint32_t function) const;

 private:
  Status find_devices() const;

  const Host host_;
  const std::shared_ptr<const Loaded> code_;
  // of what follows; not held while functions of the host run
  mutable std::mutex mutex_;
  mutable bool are_devices_found_ = false;
  mutable ModelInfo info_;
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
        machine_(host, std::move(code)),
        known_(functions.program().functions.size()) {}

  // returns  as Machine::initialize()
  Status start(std::span<const gantry_device_id> devices, const gantry_env& env) {
    return machine_.initialize(devices, &env);
  }

  // Inputs are on the devices of their parameters.
  Result<const Placements*> placements(std::uint32_t function);
  Status run(const gantry_env& env, ExecutorRun& run);

 private:
  struct Known {
    const Signature* signature = nullptr;
    Placements placed;
  };
  const Known& known(std::uint32_t function);

  const Host host_;
  const ModelFunctions& functions_;
  Machine machine_;
  // by function
  std::vector<Known> known_;
};

}  // namespace gantry::relay
