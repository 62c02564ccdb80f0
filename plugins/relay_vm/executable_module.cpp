// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "listing.hpp"
#include "module_arguments.hpp"
#include "plugin.hpp"

#include "core/formats/late_bound_file.hpp"

#include <gantry/device_name.hpp>
#include <gantry/join.hpp>

namespace gantry::relay {
namespace {

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

Result<std::uint64_t> byte_limit(const Call& call, std::size_t argument) {
  GANTRY_TRY(const std::int64_t limit, call.integer(argument));
  if (limit < 0) return call.refuse(call.title(argument), " is ", limit, ", minimum is 0");
  return static_cast<std::uint64_t>(limit);
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

}  // namespace gantry::relay
