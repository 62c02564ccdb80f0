// SPDX-License-Identifier: Apache-2.0
//
// A loaded module as a model: its executors, and golden runs in them.
//
//     module -> TestedModel -> TestedExecutor -> ModelRun, the inputs and outputs of one run
#pragma once

#include "tools/conformance/golden_call.hpp"
#include "tools/conformance/stage.hpp"

#include <gantry/model.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::kit {

class TestedExecutor;

// A module that is a model, with devices for its executors.
class TestedModel {
 public:
  // module   [in]   outlives this object
  // other    [in]   the device if the model states none
  // returns  skipped(): the module is no model; not_run(): this host lacks a device that it states;
  //          the errors of its table and of info
  static Result<TestedModel> of(RuntimeState& state, const gantry_module& module,
                                gantry_device_id other);

  RuntimeState& state() const { return *state_; }
  const gantry_model& table() const { return *table_; }
  void* self() const { return self_; }
  const gantry_model_info& info() const { return info_; }
  const std::vector<gantry_device_id>& devices() const { return devices_; }
  std::vector<std::string_view> functions() const;
  // Returns the index of a function; an empty name means the default one.
  Result<std::uint32_t> function(std::string_view name) const;
  // lifetime as long as the module
  Result<const gantry_signature*> signature(std::uint32_t function) const;
  // Creates an executor.
  //
  // task     [in]   of gantry_env; NULL: none
  Result<std::unique_ptr<TestedExecutor>> executor(std::uint32_t flags = 0,
                                                   const void* task = nullptr) const;
  // Waits for the work on its devices.
  Status synchronize() const;

 private:
  RuntimeState* state_ = nullptr;
  const gantry_model* table_ = nullptr;
  void* self_ = nullptr;
  gantry_model_info info_{};
  std::vector<gantry_device_id> devices_;
};

// An executor. The destructor destroys it.
class TestedExecutor {
 public:
  // model    [in]   outlives this object
  TestedExecutor(const TestedModel& model, void* self, const gantry_executor_table* table)
      : model_(model), self_(self), table_(table) {}
  ~TestedExecutor() { table_->destroy(self_); }
  TestedExecutor(const TestedExecutor&) = delete;
  TestedExecutor& operator=(const TestedExecutor&) = delete;

  struct Placed {
    std::span<const gantry_placement> inputs, outputs;
  };
  Result<Placed> placements(std::uint32_t function) const;
  const TestedModel& model() const { return model_; }
  void* self() const { return self_; }
  const gantry_executor_table& table() const { return *table_; }

 private:
  const TestedModel& model_;
  void* const self_;
  const gantry_executor_table* const table_;
};

struct RunSetup {
  // Tensors of stated outputs with fixed extents are filled.
  bool fills = false;
  // Inputs in host memory are read-only, have no better alignment than the executor requires, and
  // end at an unmapped page; so do tensors to fill, which are writable.
  bool is_guarded = false;
  // Inputs are in the executor's own memory where it has some.
  bool uses_own = false;
  // The inputs are zeros.
  bool zeros = false;
};

// The inputs and outputs of one run. The destructor frees them.
class ModelRun {
 public:
  // golden   [in]   outlives this object
  // returns  bug: the run does not fit the signature; the errors of signature and placements
  static Result<std::unique_ptr<ModelRun>> make(const TestedExecutor& executor,
                                                const GoldenRun& golden,
                                                const RunSetup& setup = {});
  ~ModelRun();
  ModelRun(const ModelRun&) = delete;
  ModelRun& operator=(const ModelRun&) = delete;

  // Runs, and waits for the work. Called once.
  //
  // task     [in]   of gantry_env; NULL: none
  // returns  the error of the executor
  Status run(const void* task = nullptr);
  // Compares the outputs with the golden ones.
  Status check(double tolerance) const;
  // After a failure: the outputs are as they were passed.
  Status check_untouched() const;
  // After the run: guarded memory faults from now on.
  void revoke();
  // The outputs that are returned or filled, in order.
  Result<std::vector<gantry_value>> outputs() const;

  std::uint32_t function() const { return record_.function; }
  // of the outputs; empty if they are not stated
  std::span<const gantry_placement> output_placements() const { return placed_.outputs; }

 private:
  explicit ModelRun(const TestedExecutor& executor, const GoldenRun& golden)
      : executor_(executor), golden_(golden) {}
  Status place(const gantry_parameter& input, const gantry_placement& at, const RunSetup& setup);
  Status add_target(const gantry_parameter& output, const gantry_placement& at,
                    const RunSetup& setup);
  gantry_tensor* guarded(const gantry_placement& at, gantry_dtype dtype,
                         std::span<const std::int64_t> shape, std::span<const std::uint8_t> bytes,
                         GuardedBytes::Access access);

  struct Guarded {
    std::vector<std::int64_t> shape;
    std::unique_ptr<GuardedBytes> bytes;
    gantry_tensor tensor;
  };

  const TestedExecutor& executor_;
  const GoldenRun& golden_;
  TestedExecutor::Placed placed_;
  // by the signature, the outputs
  bool are_stated_ = false;
  std::vector<gantry_value> inputs_, outputs_;
  // what they refer to
  std::vector<Value> owned_;
  std::vector<std::unique_ptr<Guarded>> guarded_;
  gantry_executor_run record_{};
};

// Makes a golden run in an executor and compares its outputs.
Status check_run(const TestedExecutor& executor, const Payload& payload, const GoldenRun& run,
                 const RunSetup& setup = {}, const void* task = nullptr);
// Makes all golden runs of a payload.
Status check_runs(const TestedExecutor& executor, const Payload& payload,
                  const RunSetup& setup = {});

}  // namespace gantry::kit
