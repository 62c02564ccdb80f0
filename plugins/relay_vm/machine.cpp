// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include "kernel_check.hpp"
#include "listing.hpp"

#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>

namespace gantry::relay {
namespace {

constexpr std::size_t max_missing_names = 16;

std::string number_text(std::int32_t type) {
  const std::string_view name = dlpack_name(type);
  return name.empty() ? concat("device type ", type) : std::string(name);
}

}  // namespace

// A run. At its end registers keep nothing.
class Machine::Running {
 public:
  explicit Running(Machine& machine) : machine_(machine) { machine_.blocks_->begin_run(); }
  ~Running() {
    machine_.leave_all_frames();
    machine_.drop_copies();
    machine_.blocks_->end_run();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Machine& machine_;
};

Status Machine::check_idle() const {
  if (frames_.empty()) return {};
  return invalid("the virtual machine runs already; each machine runs one function at a time")
      .with_reason("VM_STATE");
}

Status Machine::initialize(std::span<const gantry_device_id> devices, const gantry_env* env) {
  GANTRY_CHECK(check_idle());
  const Program& program = code_->program;
  std::vector<gantry_device_id> found;
  for (std::size_t i = 0; i < program.devices.size(); ++i) {
    GANTRY_TRY(const std::int32_t type, host_.device_type_in(code_->node, program.devices[i].type));
    const auto device = std::ranges::find(devices, type, &gantry_device_id::type);
    if (device != devices.end()) {
      found.push_back(*device);
    } else if (type == cpu_device_type) {
      found.push_back({cpu_device_type, 0});
    } else {
      return invalid("virtual device ", i, " is of type ", number_text(type),
                     ", the devices of the machine are ", join(devices, ", ", device_text))
          .with_reason("DEVICE");
    }
  }
  // Callers place inputs on the first device.
  const auto is_first = [&](gantry_device_id each) { return same_device(each, devices.front()); };
  if (!devices.empty() && std::ranges::none_of(found, is_first)) {
    return invalid("the code is made for ", join(found, ", ", device_text),
                   ", the devices of the machine are ", join(devices, ", ", device_text))
        .with_reason("DEVICE");
  }
  if (found[program.host_device].type != cpu_device_type) {
    return unsupported("the host of the code is ", device_text(found[program.host_device]),
                       ", expected the CPU")
        .with_reason("DEVICE");
  }
  std::vector<ObjectRef> packed;
  std::vector<std::string_view> missing;
  for (const std::string_view name : program.packed_functions) {
    GANTRY_TRY(ObjectRef function, host_.find_optional(code_->node, GANTRY_FIND_IMPORTS, name));
    if (!function) missing.push_back(name);
    packed.push_back(std::move(function));
  }
  if (!missing.empty()) {
    return not_found("the executable requires ", join(missing, ", ", in_quotes, max_missing_names),
                     ", which its library does not have")
        .with_reason("FUNCTIONS_MISSING");
  }
  std::vector<AnyRef> constants(program.constant_devices.size());
  for (std::uint32_t i = 0; i < constants.size(); ++i) {
    if (!code_->code.is_constant_used[i]) continue;
    const std::uint32_t device = program.constant_devices[i];
    Ref<TensorObject> tensor = heap_.tensor();
    GANTRY_TRY(tensor->owner,
               code_->constant(i, found[device], program.devices[device].scope, env));
    tensor->view = *tensor->owner.tensor();
    tensor->is_constant = true;
    tensor->host_data = code_->host_data(i);
    constants[i] = std::move(tensor);
  }
  for (const Instruction& instruction : program.instructions) {
    if (instruction.opcode == Opcode::invoke_packed)
      max_arguments_ = std::max(max_arguments_, instruction.count);
  }
  arguments_.resize(max_arguments_);
  devices_ = std::move(found);
  packed_ = std::move(packed);
  constants_ = std::move(constants);
  find_stretches();
  return {};
}

Status Machine::check_arguments(std::uint32_t function, std::size_t count) const {
  const FunctionCode& callee = code_->program.functions[function];
  if (count == callee.params.size()) return {};
  return invalid("function ", quoted(callee.name), " receives ", count,
                 " arguments, parameter count is ", callee.params.size())
      .with_reason("ARGUMENT_COUNT");
}

Result<Value> Machine::run(std::uint32_t function, const gantry_env* env,
                           std::span<const gantry_value> args) {
  GANTRY_CHECK(check_arguments(function, args.size()));
  GANTRY_CHECK(check_idle());
  env_ = env != nullptr ? *env : gantry_env{devices_.front(), nullptr, nullptr};
  kernel_env_ = env_;
  // Only a call that fails writes it, and ends the run.
  status_to_write_ = status_.get();
  transfers_ = 0;
  exported_ = 0;
  const Running running(*this);
  GANTRY_CHECK(push_frame(function, 0, no_register));
  const FunctionCode& own = code_->program.functions[function];
  for (std::uint32_t i = 0; i < args.size(); ++i) {
    auto imported = import_value(args[i], devices_[own.param_devices[i]], 0);
    if (!imported.ok())
      return std::move(imported).failure().at("in parameter ", quoted(own.params[i]));
    registers_[i] = std::move(*imported);
    if (Object* const value = registers_[i].get(); value->kind == ObjectKind::tensor)
      static_cast<TensorObject*>(value)->input = i + 1;
  }
  AnyRef result;
  const Instruction* at = code_->program.instructions.data() + own.begin;
  if (Status done = run_instructions(at, result); !done.ok())
    return with_location(std::move(done).failure(), *at);
  auto exported = export_value(result.get(), 0);
  if (!exported.ok())
    return std::move(exported).failure().at("in the result of ", quoted(own.name));
  return exported;
}

Failure Machine::with_location(Failure failure, const Instruction& at) const {
  const Program& program = code_->program;
  const auto instruction = static_cast<std::uint32_t>(&at - program.instructions.data());
  // The frame that failed to begin is not there.
  const std::uint32_t function = frames_.back().function;
  if (at.opcode == Opcode::invoke_packed && failure.error().code == Code::invalid)
    failure = with_inputs(std::move(failure), at);
  return std::move(failure).at("in instruction ", instruction - program.functions[function].begin,
                               " of function ", quoted(program.functions[function].name), ": ",
                               listing(program, function, instruction));
}

Failure Machine::with_inputs(Failure failure, const Instruction& at) const {
  const FunctionCode& function = code_->program.functions[frames_.front().function];
  const AnyRef* const registers = registers_.data() + frames_.back().base;
  // as the kernel receives them
  std::vector<const Object*> arguments;
  for (const std::uint32_t reg : code_->program.registers_of(at)) {
    const Object* const object = registers[reg].get();
    if (object == nullptr || object->kind != ObjectKind::tuple) {
      arguments.push_back(object);
    } else {
      for (const AnyRef& field : static_cast<const TupleObject*>(object)->fields)
        arguments.push_back(field.get());
    }
  }
  const auto input_in = [&](std::size_t argument) {
    const Object* const object = argument < arguments.size() ? arguments[argument] : nullptr;
    const bool is_tensor = object != nullptr && object->kind == ObjectKind::tensor;
    const auto* const tensor = is_tensor ? static_cast<const TensorObject*>(object) : nullptr;
    return tensor != nullptr && tensor->input != 0 ? tensor : nullptr;
  };
  const auto check = read_kernel_check(failure.error().message.text());
  if (const TensorObject* const input = check ? input_in(check->argument) : nullptr) {
    return invalid("input ", quoted(function.params[input->input - 1]), " of function ",
                   quoted(function.name), " is ", tensor_text(input->view), ", expected ",
                   check->expected)
        .with_reason(check->is_of_dtype ? "ARGUMENT_DTYPE" : "ARGUMENT_SHAPE")
        .at(failure.error().message);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TensorObject* const input = input_in(i);
    if (input == nullptr) continue;
    failure = std::move(failure).at("argument ", i, " is input ",
                                    quoted(function.params[input->input - 1]), ", ",
                                    tensor_text(input->view));
  }
  return failure;
}

Status Machine::push_frame(std::uint32_t function, std::uint32_t next, std::uint32_t dst) {
  const std::uint32_t count = code_->program.functions[function].register_count;
  if (frames_.size() == limits_.depth || count > limits_.registers - registers_used_) {
    return exhausted("functions of the virtual machine call each other ", frames_.size(),
                     " times within each other with ", registers_used_, " registers, limits are ",
                     limits_.depth, " and ", limits_.registers)
        .with_reason("VM_DEPTH");
  }
  if (registers_.size() - registers_used_ < count || frames_.size() == frames_.capacity())
    GANTRY_CHECK(grow_frames(count));
  frames_.push_back({function, registers_used_, next, dst});
  registers_used_ += count;
  return {};
}

Status Machine::grow_frames(std::uint32_t count) {
  const std::size_t needed = std::size_t{registers_used_} + count;
  try {
    if (frames_.size() == frames_.capacity()) {
      frames_.reserve(
          std::min<std::size_t>(std::max<std::size_t>(16, 2 * frames_.size()), limits_.depth));
    }
    if (needed > registers_.capacity()) {
      registers_.reserve(
          std::min<std::size_t>(std::max(needed, 2 * registers_.capacity()), limits_.registers));
    }
    if (needed > registers_.size()) registers_.resize(needed);
    return {};
  } catch (const std::exception&) {
    return error_in_flight();
  }
}

void Machine::pop_frame() {
  const std::uint32_t base = frames_.back().base;
  for (std::uint32_t i = base; i < registers_used_; ++i) registers_[i] = {};
  registers_used_ = base;
  frames_.pop_back();
}

void Machine::leave_all_frames() {
  while (!frames_.empty()) pop_frame();
}

Status Machine::transfer() {
  if (transfers_++ == limits_.transfers) {
    return exhausted("the run has made ", limits_.transfers, " jumps and calls, the limit")
        .with_reason("VM_DEPTH");
  }
  return host_.check_task(&env_);
}

void* Machine::stream_of(gantry_device_id device) const {
  return same_device(device, env_.device) ? env_.stream : nullptr;
}

Status Machine::run_instructions(const Instruction*& at, AnyRef& result) {
  const Instruction* const first = code_->program.instructions.data();
  AnyRef* registers = registers_.data() + frames_.back().base;
  const auto enter = [&] {
    registers = registers_.data() + frames_.back().base;
    at = first + code_->program.functions[frames_.back().function].begin;
  };
  for (;;) {
    switch (at->opcode) {
      case Opcode::move:
        registers[at->dst] = registers[at->a];
        break;
      case Opcode::ret: {
        AnyRef value = std::move(registers[at->a]);
        const Frame frame = frames_.back();
        if (frames_.size() == 1) {
          result = std::move(value);
          return {};
        }
        pop_frame();
        registers = registers_.data() + frames_.back().base;
        registers[frame.dst] = std::move(value);
        at = first + frame.next;
        continue;
      }
      case Opcode::invoke:
        GANTRY_CHECK(invoke(*at, registers));
        enter();
        continue;
      case Opcode::invoke_closure:
        GANTRY_CHECK(invoke_closure(*at, registers));
        enter();
        continue;
      case Opcode::invoke_packed:
        if (stretch_at_[static_cast<std::size_t>(at - first)] != 0) {
          GANTRY_TRY(const bool is_done, run_stretch(at, registers));
          if (is_done) continue;
        }
        GANTRY_CHECK(host_.check_task(&env_));
        GANTRY_CHECK(invoke_packed(*at, registers));
        break;
      case Opcode::alloc_tensor:
        GANTRY_CHECK(alloc_tensor(*at, registers));
        break;
      case Opcode::alloc_tensor_reg:
        GANTRY_CHECK(alloc_tensor_reg(*at, registers));
        break;
      case Opcode::alloc_data:
        GANTRY_CHECK(alloc_tuple(*at, ObjectKind::tuple, at->value, registers));
        break;
      case Opcode::alloc_closure:
        GANTRY_CHECK(alloc_tuple(*at, ObjectKind::closure, at->a, registers));
        break;
      case Opcode::get_field:
        GANTRY_CHECK(get_field(*at, registers));
        break;
      case Opcode::branch: {
        GANTRY_CHECK(transfer());
        GANTRY_TRY(const std::int64_t test, integer_in(registers, at->a));
        GANTRY_TRY(const std::int64_t target, integer_in(registers, at->b));
        at = first + (test == target ? at->c : at->first);
        continue;
      }
      case Opcode::load_const:
        registers[at->dst] = constants_[at->a];
        break;
      case Opcode::jump:
        GANTRY_CHECK(transfer());
        at = first + at->c;
        continue;
      case Opcode::get_tag: {
        GANTRY_TRY(const TupleObject* const tuple, tuple_in(registers, at->a, ObjectKind::tuple));
        GANTRY_TRY(registers[at->dst], new_number(tuple->tag, dtypes::int32));
        break;
      }
      case Opcode::load_integer: {
        GANTRY_TRY(registers[at->dst], new_number(at->value, dtypes::int64));
        break;
      }
      case Opcode::fatal:
        return invalid("the program has reached a fatal instruction: no case of a match applies")
            .with_reason("VM_FATAL");
      case Opcode::alloc_storage:
        GANTRY_CHECK(alloc_storage(*at, registers));
        break;
      case Opcode::shape_of:
        GANTRY_CHECK(shape_of(*at, registers));
        break;
      case Opcode::reshape_tensor:
        GANTRY_CHECK(reshape(*at, registers));
        break;
      case Opcode::device_copy:
        GANTRY_CHECK(copy_to_device(*at, registers));
        break;
      case Opcode::kill_register:
        registers[at->dst] = {};
        break;
    }
    ++at;
  }
}

}  // namespace gantry::relay
