// SPDX-License-Identifier: Apache-2.0
//
// The modules that callers see: the executable of a payload, and the virtual machines that it
// creates. Names and protocol are TVM's.
//
// source   apache/tvm src/runtime/vm/executable.cc, src/runtime/vm/vm.cc
#pragma once

#include "model.hpp"
#include "vm.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::relax {

struct Plugin;

class ExecutableModule {
 public:
  // The manifest declares the name of v0.16 to v0.19, relax.Executable, as an alias.
  static constexpr LoaderIdentity identity{.type_key = "relax.VMExecutable", .is_parallel = true};
  static Result<std::unique_ptr<ExecutableModule>> load(Plugin& plugin, Blob& blob);

  ExecutableModule(Host host, std::shared_ptr<const Loaded> code)
      : host_(host), code_(code), model_(std::move(code)) {}

  std::array<Method<ExecutableModule>, 3> functions() const;
  // throws   ErrorThrown if the sink fails, as SinkStream does
  Status save(const Sink& sink) const { return code_->save(sink); }

  Result<Value> vm_load_executable(const Call& call) const;
  Result<Value> as_text(const Call& call) const;
  Result<Value> has_function(const Call& call) const;

  // gantry.model/1, see gantry/model.hpp.
  Result<const ModelInfo*> model_info() const { return &model_.info(); }
  Result<const Signature*> signature(std::uint32_t function) const {
    return &model_.signature(function);
  }
  Result<std::unique_ptr<Executor>> executor_new(const gantry_env& env,
                                                 const ExecutorOptions& options) const;

 private:
  const Host host_;
  const std::shared_ptr<const Loaded> code_;
  const ModelFunctions model_;
};

class VmModule {
 public:
  static constexpr const char* type_name = "relax.VirtualMachine";
  static constexpr bool is_serial = true;

  VmModule(Host host, std::shared_ptr<const Loaded> code);

  std::array<Method<VmModule>, 9> functions() const;
  // Functions of the executable, and those of save_function().
  struct NamedFunction {
    VmModule* module;
    std::uint32_t function;
    // follow the arguments of a call
    std::vector<Value> saved;
    bool returns = true;
    Result<Value> call(const Call& call);
  };
  std::map<std::string, NamedFunction*, std::less<>>& named_functions() { return by_name_; }

  // As initialize() with these devices.
  Status start(std::span<const gantry_device_id> devices, const gantry_env* env);

  Result<Value> vm_initialization(const Call& call);
  Result<Value> save_function(const Call& call);
  Result<Value> invoke_closure(const Call& call);
  Result<Value> set_input(const Call& call);
  Result<Value> invoke_stateful(const Call& call);
  Result<Value> get_output(const Call& call);
  Result<Value> get_output_arity(const Call& call);
  Result<Value> get_function_arity(const Call& call);
  Result<Value> get_function_param_name(const Call& call);

 private:
  // returns  INVALID  no such function; vm_initialization was not called
  Result<std::uint32_t> function_of(const Call& call);
  Status check_started() const;
  Result<Value> output_at(const Call& call, std::size_t& depth);

  const Host host_;
  const std::shared_ptr<const Loaded> code_;
  Vm vm_;
  // in the order of the file; without packed functions
  std::deque<NamedFunction> functions_;
  std::map<std::string, NamedFunction*, std::less<>> by_name_;
  // by function
  std::map<std::uint32_t, std::vector<Value>> inputs_;
  std::map<std::uint32_t, Value> outputs_;
};

}  // namespace gantry::relax
