// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "listing.hpp"
#include "plugin.hpp"

#include <gantry/call_devices.hpp>
#include <gantry/device_name.hpp>
#include <gantry/quoted.hpp>

namespace gantry::relax {
namespace {

// Returns a value that the machine may keep: tensors of other devices, and those by reference, are
// copied to its first device.
Result<Value> kept_on(const Host& host, gantry_device_id device, const gantry_value& value,
                      const gantry_env* env) {
  const gantry_tensor* const tensor = gantry_value_tensor(&value);
  if (tensor == nullptr || same_device(tensor->device, device))
    return keep_or_copy(host, value, env);
  return host.tensor_copied(*tensor, device, env);
}

}  // namespace

Result<std::unique_ptr<ExecutableModule>> ExecutableModule::load(Plugin& plugin, Blob& blob) {
  GANTRY_TRY(auto code, Loaded::read(plugin.host, blob, plugin.memory));
  return std::make_unique<ExecutableModule>(plugin.host, std::move(code));
}

std::array<Method<ExecutableModule>, 3> ExecutableModule::functions() const {
  return {method<&ExecutableModule::vm_load_executable, "vm_load_executable(device, ...)">,
          method<&ExecutableModule::as_text, "as_text()">,
          method<&ExecutableModule::has_function, "has_function(name)">};
}

// With devices, the machine is ready to run; without, vm_initialization() follows, as in TVM.
Result<Value> ExecutableModule::vm_load_executable(const Call& call) const {
  std::vector<gantry_device_id> devices;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    GANTRY_TRY(const gantry_device_id device, call.device(i));
    devices.push_back(device);
  }
  auto module = std::make_unique<VmModule>(host_, code_);
  if (!devices.empty()) GANTRY_CHECK(module->start(devices, call.env));
  return new_module(host_, code_->node, std::move(module));
}

Result<Value> ExecutableModule::as_text(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  return host_.text(listing(code_->program));
}

Result<Value> ExecutableModule::has_function(const Call& call) const {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view name, call.text(0));
  return Value::adopt(bool_value(code_->program.find(name).has_value()));
}

Result<std::unique_ptr<Executor>> ExecutableModule::executor_new(
    const gantry_env& env, const ExecutorOptions& options) const {
  if (options.capture) {
    return unsupported("the model is a virtual machine, only graphs can be recorded (capture)")
        .with_reason("CAPTURE");
  }
  auto executor = std::make_unique<Executor>(host_, model_, code_);
  Status started = executor->start(options.devices, env);
  if (!started.ok()) return std::move(started).failure().at("while making a virtual machine");
  return executor;
}

VmModule::VmModule(Host host, std::shared_ptr<const Loaded> code)
    : host_(host), code_(code), vm_(host, std::move(code)) {
  const std::vector<FunctionCode>& all = code_->program.functions;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].kind == FunctionKind::packed) continue;
    by_name_.emplace(all[i].name, &functions_.emplace_back(NamedFunction{this, i, {}, true}));
  }
}

std::array<Method<VmModule>, 9> VmModule::functions() const {
  return {method<&VmModule::vm_initialization, "vm_initialization(type, index, allocator, ...)">,
          method<&VmModule::save_function, "save_function(function, name, returns, ...)">,
          method<&VmModule::invoke_closure, "invoke_closure(closure, ...)">,
          method<&VmModule::set_input, "set_input(function, ...)">,
          method<&VmModule::invoke_stateful, "invoke_stateful(function)">,
          method<&VmModule::get_output, "get_output(function, index, ...)">,
          method<&VmModule::get_output_arity, "get_output_arity(function, index, ...)">,
          method<&VmModule::get_function_arity, "get_function_arity(function)">,
          method<&VmModule::get_function_param_name, "get_function_param_name(function, index)">};
}

Status VmModule::start(std::span<const gantry_device_id> devices, const gantry_env* env) {
  return vm_.initialize(devices, env);
}

Status VmModule::check_started() const {
  if (vm_.is_initialized()) return {};
  return invalid("the virtual machine has no devices; call vm_initialization before")
      .with_reason("VM_STATE");
}

Result<Value> VmModule::NamedFunction::call(const Call& call) {
  GANTRY_CHECK(module->check_started());
  if (saved.empty() && returns) return module->vm_.run(function, call.env, call.args);
  std::vector<gantry_value> all(call.args.begin(), call.args.end());
  for (const Value& value : saved) all.push_back(value.get());
  GANTRY_TRY(Value result, module->vm_.run(function, call.env, all));
  return returns ? std::move(result) : Value();
}

Result<Value> VmModule::vm_initialization(const Call& call) {
  GANTRY_TRY(const auto devices, devices_of_triples(host_, code_->node, call));
  GANTRY_CHECK(start(devices, call.env));
  return Value();
}

Result<std::uint32_t> VmModule::function_of(const Call& call) {
  GANTRY_TRY(const std::string_view name, call.text(0));
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return raise(host_, "ValueError", "Unknown function: ", name);
  GANTRY_CHECK(check_started());
  return found->second->function;
}

Result<Value> VmModule::save_function(const Call& call) {
  GANTRY_TRY(const std::uint32_t function, function_of(call));
  GANTRY_TRY(const std::string_view name, call.text(1));
  GANTRY_TRY(const std::int64_t returns, call.integer(2));
  NamedFunction named{this, function, {}, returns != 0};
  for (const gantry_value& arg : call.args.subspan(3)) {
    GANTRY_TRY(Value value, kept_on(host_, *vm_.device(0), arg, call.env));
    named.saved.push_back(std::move(value));
  }
  by_name_.insert_or_assign(std::string(name), &functions_.emplace_back(std::move(named)));
  return Value();
}

Result<Value> VmModule::invoke_closure(const Call& call) {
  GANTRY_CHECK(check_started());
  if (call.args.empty() || call.args[0].kind < GANTRY_OBJECT) return call.wrong(0, "a closure");
  return vm_.invoke_closure(call.args[0].object, call.env, call.args.subspan(1));
}

Result<Value> VmModule::set_input(const Call& call) {
  GANTRY_TRY(const std::uint32_t function, function_of(call));
  const FunctionCode& callee = code_->program.functions[function];
  if (call.args.size() - 1 != callee.parameter_count) {
    return raise(host_, "ValueError", "The number of provided parameters, ", call.args.size() - 1,
                 ", doesn't match the number of arguments of ", callee.name, ", ",
                 callee.parameter_count);
  }
  std::vector<Value> inputs;
  for (const gantry_value& arg : call.args.subspan(1)) {
    GANTRY_TRY(Value value, kept_on(host_, *vm_.device(0), arg, call.env));
    inputs.push_back(std::move(value));
  }
  inputs_[function] = std::move(inputs);
  return Value();
}

Result<Value> VmModule::invoke_stateful(const Call& call) {
  GANTRY_TRY(const std::uint32_t function, function_of(call));
  const auto inputs = inputs_.find(function);
  if (inputs == inputs_.end()) {
    return raise(host_, "ValueError", "No inputs set for stateful call of ",
                 code_->program.functions[function].name, "; use `set_input` first.");
  }
  std::vector<gantry_value> args;
  for (const Value& value : inputs->second) args.push_back(value.get());
  GANTRY_TRY(outputs_[function], vm_.run(function, call.env, args));
  return Value();
}

// Returns a part of a function's output.
//
// depth    [out]  number of indices that were used
Result<Value> VmModule::output_at(const Call& call, std::size_t& depth) {
  GANTRY_TRY(const std::uint32_t function, function_of(call));
  const auto output = outputs_.find(function);
  if (output == outputs_.end()) {
    return raise(host_, "ValueError", "No output saved for call of \"",
                 code_->program.functions[function].name,
                 "\"; use `invoke_stateful` to call it first.");
  }
  Value part = output->second;
  for (depth = 1; depth < call.args.size(); ++depth) {
    GANTRY_TRY(const std::int64_t index, call.integer(depth));
    if (part.kind() != GANTRY_ARRAY) {
      return raise(host_, "ValueError", "Attempted to index into an object that is not an Array.");
    }
    GANTRY_TRY(const auto items, host_.items(part.object()));
    if (index < 0 || static_cast<std::uint64_t>(index) >= items.size()) {
      return raise(host_, "IndexError", "index ", index, " of a tuple of ", items.size());
    }
    GANTRY_TRY(part, host_.keep(items[static_cast<std::size_t>(index)]));
  }
  return part;
}

Result<Value> VmModule::get_output(const Call& call) {
  std::size_t depth = 0;
  return output_at(call, depth);
}

// -1 for an output that is not a tuple.
Result<Value> VmModule::get_output_arity(const Call& call) {
  std::size_t depth = 0;
  GANTRY_TRY(const Value part, output_at(call, depth));
  if (part.kind() != GANTRY_ARRAY) return Value::adopt(int_value(-1));
  GANTRY_TRY(const auto items, host_.items(part.object()));
  return Value::adopt(int_value(static_cast<std::int64_t>(items.size())));
}

Result<Value> VmModule::get_function_arity(const Call& call) {
  GANTRY_TRY(const std::uint32_t function, function_of(call));
  return Value::adopt(int_value(code_->program.functions[function].parameter_count));
}

Result<Value> VmModule::get_function_param_name(const Call& call) {
  GANTRY_TRY(const std::uint32_t function, function_of(call));
  GANTRY_TRY(const std::int64_t index, call.integer(1));
  const auto names = code_->program.functions[function].parameter_names;
  if (index < 0 || static_cast<std::uint64_t>(index) >= names.size()) {
    return raise(host_, "IndexError", "parameter ", index, " of a function with ", names.size());
  }
  return host_.text(names[static_cast<std::size_t>(index)]);
}

}  // namespace gantry::relax
