// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "module_arguments.hpp"

#include <gantry/call_devices.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>

namespace gantry::relay {
namespace {

// Returns a result with its tensors on a device.
Result<Value> result_on(const Host& host, const Value& value, gantry_device_id device,
                        const gantry_env* env) {
  if (const gantry_tensor* const tensor = value.tensor()) {
    if (same_device(tensor->device, device)) return value;
    return host.tensor_copied(*tensor, device, env);
  }
  GANTRY_TRY(const auto items, host.items(value.object()));
  std::vector<Value> copies;
  for (const gantry_value& item : items) {
    GANTRY_TRY(const Value kept, host.keep(item));
    GANTRY_TRY(Value copy, result_on(host, kept, device, env));
    copies.push_back(std::move(copy));
  }
  return host.array(copies);
}

// The items of a tuple; a tensor is one item.
//
// lifetime as long as the result
Result<std::span<const gantry_value>> items_of(const Host& host, const Value& result) {
  if (result.kind() != GANTRY_ARRAY) return std::span(&result.get(), 1);
  return host.items(result.object());
}

// Texts of tensors show the first extents only.
bool is_same_type(const gantry_tensor& a, const gantry_tensor& b) {
  return same_dtype(a.dtype, b.dtype) && std::ranges::equal(shape_of(a), shape_of(b));
}

}  // namespace

VmModule::VmModule(Host host, std::shared_ptr<Loaded> code)
    : host_(host),
      code_(code),
      machine_(host, std::move(code)),
      inputs_(code_->program.functions.size()),
      outputs_(code_->program.functions.size()) {
  for (std::uint32_t i = 0; i < code_->program.functions.size(); ++i)
    functions_.push_back({this, i});
}

std::array<Method<VmModule>, 13> VmModule::functions() const {
  return {method<&VmModule::init, "init(type, index, allocator, ...)">,
          method<&VmModule::set_input, "set_input(function, ...)">,
          method<&VmModule::set_one_input, "set_one_input(function, name or index, tensor)">,
          method<&VmModule::set_outputs, "set_outputs(function, tensor, ...)">,
          method<&VmModule::invoke, "invoke(function)">,
          method<&VmModule::invoke_stateful, "invoke_stateful(function)">,
          method<&VmModule::invoke_return_to_device,
                 "invoke_return_to_device(function, type, index, ...)">,
          method<&VmModule::get_output, "get_output(index)">,
          method<&VmModule::get_num_outputs, "get_num_outputs()">,
          method<&VmModule::get_input_index, "get_input_index(name, function)">,
          method<&VmModule::get_function_arity, "get_function_arity(function)">,
          method<&VmModule::get_function_param_name, "get_function_param_name(function, index)">,
          method<&VmModule::load_late_bound_consts, "load_late_bound_consts(path)">};
}

Result<VmModule::NamedFunction*> VmModule::find(std::string_view name) {
  const auto found = code_->program.find(name);
  return found ? &functions_[*found] : nullptr;
}

std::vector<std::string_view> VmModule::names() const {
  std::vector<std::string_view> names;
  for (const FunctionCode& function : code_->program.functions) names.push_back(function.name);
  return names;
}

Status VmModule::check_started() const {
  if (machine_.is_initialized()) return {};
  return invalid("the virtual machine has no devices; call init before").with_reason("VM_STATE");
}

Result<Value> VmModule::NamedFunction::call(const Call& call) {
  GANTRY_CHECK(module->check_started());
  return module->machine_.run(function, call.env, call.args);
}

// The allocator is ignored: storages are always pooled.
Result<Value> VmModule::init(const Call& call) {
  GANTRY_TRY(const auto devices, devices_of_triples(host_, code_->node, call));
  GANTRY_CHECK(start(devices, call.env));
  return Value();
}

// A tensor by reference is copied: it need not outlive the call.
Result<Value> VmModule::kept(std::uint32_t function, std::size_t param, const gantry_value& value,
                             const gantry_env* env) const {
  if (value.kind != GANTRY_TENSOR_REF) return host_.keep(value);
  return host_.tensor_copied(*value.tensor, machine_.device_of(function, param), env);
}

Status VmModule::set_inputs(std::uint32_t function, std::span<const gantry_value> args,
                            const gantry_env* env) {
  const FunctionCode& code = code_->program.functions[function];
  if (args.size() != code.params.size()) {
    return invalid("inputs of ", quoted(code.name), " are ", args.size(), ", parameter count is ",
                   code.params.size())
        .with_reason("ARGUMENT_COUNT");
  }
  given_.clear();
  for (std::size_t i = 0; i < args.size(); ++i) {
    GANTRY_TRY(Value input, kept(function, i, args[i], env));
    given_.push_back(std::move(input));
  }
  set_given(inputs_[function]);
  return {};
}

void VmModule::set_given(std::vector<Value>& list) {
  list.resize(given_.size());
  std::ranges::move(given_, list.begin());
  given_.clear();
}

Result<Value> VmModule::set_input(const Call& call) {
  GANTRY_CHECK(check_started());
  GANTRY_TRY(const std::uint32_t function, function_of(code_->program, call, 0));
  GANTRY_CHECK(set_inputs(function, call.args.subspan(1), call.env));
  return Value();
}

Result<Value> VmModule::set_one_input(const Call& call) {
  GANTRY_CHECK(check_started());
  GANTRY_CHECK(call.count_is(3));
  GANTRY_TRY(const std::uint32_t function, function_of(code_->program, call, 0));
  const auto& params = code_->program.functions[function].params;
  std::size_t param = params.size();
  if (const auto name = value_text(call.args[1])) {
    param = static_cast<std::size_t>(std::ranges::find(params, *name) - params.begin());
    if (param == params.size()) {
      return call.refuse("parameter ", quoted(*name), " not found",
                         "; parameters: ", join(params, ", ", in_quotes, max_listed_names));
    }
  } else {
    GANTRY_TRY(const std::int64_t index, call.integer(1));
    if (index < 0 || static_cast<std::uint64_t>(index) >= params.size())
      return call.refuse("index is ", index, ", parameter count is ", params.size());
    param = static_cast<std::size_t>(index);
  }
  GANTRY_TRY(Value input, kept(function, param, call.args[2], call.env));
  std::vector<Value>& inputs = inputs_[function];
  inputs.resize(params.size());
  inputs[param] = std::move(input);
  return Value();
}

Result<Value> VmModule::set_outputs(const Call& call) {
  GANTRY_CHECK(check_started());
  GANTRY_TRY(const std::uint32_t function, function_of(code_->program, call, 0));
  if (call.args.size() < 2) return call.refuse("no tensor is given");
  given_.clear();
  for (std::size_t i = 1; i < call.args.size(); ++i) {
    GANTRY_CHECK(call.tensor(i));
    GANTRY_TRY(Value output, host_.keep(call.args[i]));
    given_.push_back(std::move(output));
  }
  set_given(outputs_[function]);
  return Value();
}

Status VmModule::copy_outputs(std::uint32_t function, const gantry_env* env) {
  std::vector<Value>& outputs = outputs_[function];
  if (outputs.empty()) return {};
  Status copied = copy_result_to(outputs, env);
  outputs.clear();
  return copied;
}

Status VmModule::copy_result_to(std::span<const Value> outputs, const gantry_env* env) {
  GANTRY_TRY(const auto items, items_of(host_, result_));
  if (items.size() != outputs.size()) {
    return invalid("set_outputs was called with ", outputs.size(), " tensors, the result has ",
                   items.size())
        .with_reason("ARGUMENT_COUNT");
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const gantry_tensor* const from = gantry_value_tensor(&items[i]);
    const gantry_tensor& to = *outputs[i].tensor();
    if (from == nullptr || !is_same_type(*from, to) || !is_compact(to)) {
      return invalid("output ", i, " is ", from == nullptr ? "a tuple" : tensor_text(*from),
                     ", the tensor of set_outputs is ", tensor_text(to),
                     is_compact(to) ? "" : " and not dense")
          .with_reason("ARGUMENT");
    }
    GANTRY_CHECK(host_.tensor_copy(*from, to, env));
  }
  if (items.size() == 1 && result_.kind() != GANTRY_ARRAY) {
    result_ = outputs.front();
    return {};
  }
  GANTRY_TRY(result_, host_.array(outputs));
  return {};
}

Result<Value> VmModule::invoke_function(std::uint32_t function, const gantry_env* env) {
  GANTRY_CHECK(check_started());
  const FunctionCode& code = code_->program.functions[function];
  const std::vector<Value>& inputs = inputs_[function];
  args_.clear();
  for (std::size_t i = 0; i < code.params.size(); ++i) {
    if (i >= inputs.size() || inputs[i].kind() == GANTRY_NONE) {
      return invalid("input ", quoted(code.params[i]), " of ", quoted(code.name),
                     " is not set; call set_input before")
          .with_reason("VM_STATE");
    }
    args_.push_back(inputs[i].get());
  }
  result_ = Value();
  GANTRY_TRY(result_, machine_.run(function, env, args_));
  GANTRY_CHECK(copy_outputs(function, env));
  return result_;
}

Result<Value> VmModule::invoke(const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::uint32_t function, function_of(code_->program, call, 0));
  return invoke_function(function, call.env);
}

Result<Value> VmModule::invoke_stateful(const Call& call) {
  GANTRY_CHECK(invoke(call));
  return Value();
}

Result<Value> VmModule::invoke_return_to_device(const Call& call) {
  GANTRY_CHECK(check_started());
  GANTRY_TRY(const std::uint32_t function, function_of(code_->program, call, 0));
  GANTRY_TRY(const gantry_device_id device, device_of_numbers(host_, code_->node, call, 1));
  GANTRY_CHECK(set_inputs(function, call.args.subspan(3), call.env));
  GANTRY_TRY(const Value result, invoke_function(function, call.env));
  return result_on(host_, result, device, call.env);
}

Result<Value> VmModule::get_output(const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::int64_t index, call.integer(0));
  if (result_.kind() == GANTRY_NONE)
    return invalid("no function has run; call invoke before").with_reason("VM_STATE");
  GANTRY_TRY(const auto items, items_of(host_, result_));
  if (index < 0 || static_cast<std::uint64_t>(index) >= items.size())
    return call.refuse("index is ", index, ", output count is ", items.size());
  return host_.keep(items[static_cast<std::size_t>(index)]);
}

Result<Value> VmModule::get_num_outputs(const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  if (result_.kind() == GANTRY_NONE)
    return invalid("no function has run; call invoke before").with_reason("VM_STATE");
  GANTRY_TRY(const auto items, items_of(host_, result_));
  return Value::adopt(int_value(static_cast<std::int64_t>(items.size())));
}

// -1 for a name that no parameter has, as in TVM.
Result<Value> VmModule::get_input_index(const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::string_view name, call.text(0));
  GANTRY_TRY(const std::uint32_t function, function_of(code_->program, call, 1));
  const auto& params = code_->program.functions[function].params;
  const auto found = std::ranges::find(params, name);
  return Value::adopt(int_value(found == params.end() ? -1 : found - params.begin()));
}

Result<Value> VmModule::get_function_arity(const Call& call) {
  return arity_of(code_->program, call);
}

Result<Value> VmModule::get_function_param_name(const Call& call) {
  return param_name_of(host_, code_->program, call);
}

Result<Value> VmModule::load_late_bound_consts(const Call& call) {
  return load_constants(*code_, host_, call);
}

}  // namespace gantry::relay
