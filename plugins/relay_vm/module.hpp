// SPDX-License-Identifier: Apache-2.0
//
// The modules that callers see: the executable of a payload, and the virtual machines that it
// creates. Names and protocol are TVM's.
//
// source   apache/tvm src/runtime/vm/executable.cc, src/runtime/vm/vm.cc
#pragma once

#include "machine.hpp"
#include "model.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::relay {

struct Plugin;

class ExecutableModule {
 public:
  static constexpr LoaderIdentity identity{.type_key = "VMExecutable", .is_parallel = true};
  static Result<std::unique_ptr<ExecutableModule>> load(Plugin& plugin, Blob& blob);

  ExecutableModule(Host host, std::shared_ptr<Loaded> code)
      : host_(host), code_(code), model_(host, std::move(code)) {}

  std::array<Method<ExecutableModule>, 16> functions() const;
  // throws   ErrorThrown if the sink fails, as SinkStream does
  Status save(const Sink& sink) const { return code_->save(sink); }

  Result<Value> vm_load_executable(const Call& call) const;
  Result<Value> as_text(const Call& call) const;
  Result<Value> get_lib(const Call& call) const;
  Result<Value> get_constants(const Call& call) const;
  Result<Value> get_stats(const Call& call) const;
  Result<Value> get_virtual_devices(const Call& call) const;
  Result<Value> get_primitives(const Call& call) const;
  Result<Value> save_bytes(const Call& call) const;
  Result<Value> has_function(const Call& call) const;
  Result<Value> get_function_arity(const Call& call) const;
  Result<Value> get_function_param_name(const Call& call) const;
  Result<Value> move_late_bound_consts(const Call& call) const;
  Result<Value> get_late_bound_consts(const Call& call) const;
  Result<Value> load_late_bound_consts(const Call& call) const;
  Result<Value> load_late_bound_consts_from_map(const Call& call) const;

  // gantry.model/1, see gantry/model.hpp.
  Result<const ModelInfo*> model_info() const { return model_.info(); }
  Result<const Signature*> signature(std::uint32_t function) const {
    return &model_.signature(function);
  }
  Result<std::unique_ptr<Executor>> executor_new(const gantry_env& env,
                                                 const ExecutorOptions& options) const;

 private:
  const Host host_;
  const std::shared_ptr<Loaded> code_;
  const ModelFunctions model_;
};

class VmModule {
 public:
  static constexpr const char* type_name = "relay.VirtualMachine";
  static constexpr bool is_serial = true;

  VmModule(Host host, std::shared_ptr<Loaded> code);

  std::array<Method<VmModule>, 13> functions() const;
  // Functions of the executable.
  struct NamedFunction {
    VmModule* module;
    std::uint32_t function;
    Result<Value> call(const Call& call);
  };
  Result<NamedFunction*> find(std::string_view name);
  std::vector<std::string_view> names() const;

  // As init() with these devices.
  Status start(std::span<const gantry_device_id> devices, const gantry_env* env) {
    return machine_.initialize(devices, env);
  }

  Result<Value> init(const Call& call);
  Result<Value> set_input(const Call& call);
  Result<Value> set_one_input(const Call& call);
  Result<Value> set_outputs(const Call& call);
  Result<Value> invoke(const Call& call);
  Result<Value> invoke_stateful(const Call& call);
  Result<Value> invoke_return_to_device(const Call& call);
  Result<Value> get_output(const Call& call);
  Result<Value> get_num_outputs(const Call& call);
  Result<Value> get_input_index(const Call& call);
  Result<Value> get_function_arity(const Call& call);
  Result<Value> get_function_param_name(const Call& call);
  Result<Value> load_late_bound_consts(const Call& call);

 private:
  Status check_started() const;
  // Runs a function with the inputs that were set.
  Result<Value> invoke_function(std::uint32_t function, const gantry_env* env);
  Status set_inputs(std::uint32_t function, std::span<const gantry_value> args,
                    const gantry_env* env);
  // Replaces a list by given_, which is empty then.
  void set_given(std::vector<Value>& list);
  Result<Value> kept(std::uint32_t function, std::size_t param, const gantry_value& value,
                     const gantry_env* env) const;
  // Copies the result to the tensors of set_outputs(), which serve one run.
  Status copy_outputs(std::uint32_t function, const gantry_env* env);
  Status copy_result_to(std::span<const Value> outputs, const gantry_env* env);

  const Host host_;
  const std::shared_ptr<Loaded> code_;
  Machine machine_;
  // by index of the function
  std::vector<NamedFunction> functions_;
  // By function; values that are none are not set. Empty: no outputs.
  std::vector<std::vector<Value>> inputs_, outputs_;
  // Of the call that is made: inputs or outputs that are not set yet, and arguments.
  std::vector<Value> given_;
  std::vector<gantry_value> args_;
  // of the last invoke
  Value result_;
};

}  // namespace gantry::relay
