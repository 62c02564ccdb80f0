// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "listing.hpp"
#include "plugin.hpp"

#include "core/format/late_bound_file.hpp"

#include <gantry/call_devices.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>

namespace gantry::relay {
namespace {

constexpr std::size_t max_listed_names = 16;

// The library of kernels: finds the functions that the executable imports.
class LibraryModule {
 public:
  static constexpr const char* type_name = "relay.Library";

  LibraryModule(Host host, std::shared_ptr<const Loaded> code)
      : host_(host), code_(std::move(code)) {}
  Result<ObjectRef> find(std::string_view name) {
    return host_.find_optional(code_->node, GANTRY_FIND_IMPORTS, name);
  }
  std::vector<std::string_view> names() const { return code_->program.packed_functions; }

 private:
  const Host host_;
  const std::shared_ptr<const Loaded> code_;
};

// Returns the index of the function that an argument names.
Result<std::uint32_t> function_of(const Program& program, const Call& call, std::size_t argument) {
  GANTRY_TRY(const std::string_view name, call.text(argument));
  if (const auto function = program.find(name)) return *function;
  return not_found(
             "no function is called ", quoted(name), "; functions: ",
             join(
                 program.functions, ", ",
                 [](const FunctionCode& each) { return quoted(each.name); }, max_listed_names))
      .with_reason("FUNCTION");
}

Result<Value> arity_of(const Program& program, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::uint32_t function, function_of(program, call, 0));
  const std::size_t arity = program.functions[function].params.size();
  return Value::adopt(int_value(static_cast<std::int64_t>(arity)));
}

Result<Value> param_name_of(const Host& host, const Program& program, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::uint32_t function, function_of(program, call, 0));
  GANTRY_TRY(const std::int64_t index, call.integer(1));
  const auto& params = program.functions[function].params;
  if (index < 0 || static_cast<std::uint64_t>(index) >= params.size())
    return call.refuse("index is ", index, ", parameter count is ", params.size());
  return host.text(params[static_cast<std::size_t>(index)]);
}

Result<Value> load_constants(Loaded& code, const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view path, call.text(0));
  GANTRY_TRY(const LateBoundFile file, read_late_bound_file(path));
  std::vector<Loaded::Named> tensors;
  for (const auto& [name, array] : file.arrays) {
    const gantry_tensor from =
        compact_tensor(array.dtype, array.shape, {cpu_device_type, 0}, array.data.data());
    GANTRY_TRY(Value copy, host.tensor_copied(from, {cpu_device_type, 0}, call.env));
    tensors.emplace_back(name, std::move(copy));
  }
  GANTRY_CHECK(code.bind(std::move(tensors)));
  return Value();
}

Result<std::uint64_t> byte_limit(const Call& call, std::size_t argument) {
  GANTRY_TRY(const std::int64_t limit, call.integer(argument));
  if (limit < 0) return call.refuse(call.title(argument), " is ", limit, ", minimum is 0");
  return static_cast<std::uint64_t>(limit);
}

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

Result<std::unique_ptr<ExecutableModule>> ExecutableModule::load(Plugin& plugin, Blob& blob) {
  GANTRY_TRY(auto code, Loaded::read(plugin.host, blob, plugin.memory));
  return std::make_unique<ExecutableModule>(plugin.host, std::move(code));
}

std::array<Method<ExecutableModule>, 16> ExecutableModule::functions() const {
  return {
      method<&ExecutableModule::vm_load_executable, "vm_load_executable(device, ...)">,
      method<&ExecutableModule::as_text, "as_text()">,
      method<&ExecutableModule::as_text, "get_bytecode()">,
      method<&ExecutableModule::get_lib, "get_lib()">,
      method<&ExecutableModule::get_constants, "get_constants()">,
      method<&ExecutableModule::get_stats, "get_stats()">,
      method<&ExecutableModule::get_virtual_devices, "get_virtual_devices()">,
      method<&ExecutableModule::get_primitives, "get_primitives()">,
      method<&ExecutableModule::save_bytes, "save()">,
      method<&ExecutableModule::has_function, "has_function(name)">,
      method<&ExecutableModule::get_function_arity, "get_function_arity(function)">,
      method<&ExecutableModule::get_function_param_name,
             "get_function_param_name(function, index)">,
      method<&ExecutableModule::move_late_bound_consts, "move_late_bound_consts(path, byte limit)">,
      method<&ExecutableModule::get_late_bound_consts, "get_late_bound_consts(byte limit)">,
      method<&ExecutableModule::load_late_bound_consts, "load_late_bound_consts(path)">,
      method<&ExecutableModule::load_late_bound_consts_from_map,
             "load_late_bound_consts_from_map(tensors)">};
}

// With devices, the machine is ready to run; without, init() follows, as in TVM.
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

Result<Value> ExecutableModule::get_lib(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  return new_module(host_, code_->node, std::make_unique<LibraryModule>(host_, code_));
}

Result<Value> ExecutableModule::get_constants(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  std::string text;
  std::size_t index = 0;
  for (const std::string& constant : code_->constant_texts()) {
    append(text, {"c[", index, "]: ", constant, ", device ", code_->program.constant_devices[index],
                  '\n'});
    ++index;
  }
  return host_.text(text);
}

Result<Value> ExecutableModule::get_stats(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  const Program& program = code_->program;
  const std::vector<std::string> constants = code_->constant_texts();
  return host_.text(concat(
      "Relay VM executable of version ", code_->code.version, "\n  constants (", constants.size(),
      "): ", join(constants), "\n  functions (", program.functions.size(),
      "): ", join(program.functions, ", ", [](const FunctionCode& each) { return each.name; }),
      "\n  packed functions (", program.packed_functions.size(), "): ",
      join(program.packed_functions), "\n  instructions: ", program.instructions.size(), '\n'));
}

Result<Value> ExecutableModule::get_virtual_devices(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  std::string text;
  const Program& program = code_->program;
  for (std::size_t i = 0; i < program.devices.size(); ++i) {
    const RelayDevice& device = program.devices[i];
    append(text, {"device[", i, "]: ", device_text({device.type, device.index}),
                  device.scope.empty() ? "" : ", scope ", device.scope,
                  i == program.host_device ? ", host" : "", '\n'});
  }
  return host_.text(text);
}

Result<Value> ExecutableModule::get_primitives(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  std::string text;
  std::size_t index = 0;
  for (const std::string_view name : code_->program.packed_functions)
    append(text, {"packed[", index++, "]: ", name, '\n'});
  return host_.text(text);
}

Result<Value> ExecutableModule::save_bytes(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  return host_.bytes(code_->code_bytes());
}

Result<Value> ExecutableModule::has_function(const Call& call) const {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view name, call.text(0));
  return Value::adopt(bool_value(code_->program.find(name).has_value()));
}

Result<Value> ExecutableModule::get_function_arity(const Call& call) const {
  return arity_of(code_->program, call);
}

Result<Value> ExecutableModule::get_function_param_name(const Call& call) const {
  return param_name_of(host_, code_->program, call);
}

// The file is complete before the constants are taken out.
Result<Value> ExecutableModule::move_late_bound_consts(const Call& call) const {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::string_view path, call.text(0));
  GANTRY_TRY(const std::uint64_t limit, byte_limit(call, 1));
  GANTRY_CHECK(code_->take_late_bound(limit, call.env, [&](const auto& tensors) {
    std::vector<std::pair<std::string_view, const gantry_tensor*>> views;
    for (const auto& [name, value] : tensors) views.emplace_back(name, value.tensor());
    return write_late_bound_file(path, views);
  }));
  return Value();
}

Result<Value> ExecutableModule::get_late_bound_consts(const Call& call) const {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::uint64_t limit, byte_limit(call, 0));
  Value map;
  GANTRY_CHECK(code_->take_late_bound(limit, call.env, [&](const auto& tensors) -> Status {
    std::vector<Host::Entry> entries;
    for (const auto& [name, tensor] : tensors) {
      GANTRY_TRY(Value key, host_.text(name));
      entries.emplace_back(std::move(key), tensor);
    }
    GANTRY_TRY(map, host_.map(entries));
    return {};
  }));
  return map;
}

Result<Value> ExecutableModule::load_late_bound_consts(const Call& call) const {
  return load_constants(*code_, host_, call);
}

Result<Value> ExecutableModule::load_late_bound_consts_from_map(const Call& call) const {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(gantry_object* const map, call.object(0, GANTRY_MAP));
  GANTRY_TRY(const auto items, host_.items(map));
  std::vector<Loaded::Named> tensors;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto name = value_text(items[i]);
    const gantry_tensor* const tensor = gantry_value_tensor(&items[i + 1]);
    if (!name || tensor == nullptr || tensor->device.type != cpu_device_type ||
        !is_compact(*tensor))
      return call.refuse("entry ", i / 2, " is not a name with a dense tensor on the CPU");
    GANTRY_TRY(Value kept, host_.keep(items[i + 1]));
    tensors.emplace_back(*name, std::move(kept));
  }
  GANTRY_CHECK(code_->bind(std::move(tensors)));
  return Value();
}

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
      return call.refuse("no parameter is called ", quoted(*name),
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
