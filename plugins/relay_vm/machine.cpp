// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include "kernel_check.hpp"
#include "listing.hpp"

#include <gantry/array_record.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/zero_copy.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>

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
  const auto text_of = [&](gantry_device_id id) { return host_.device_text(id); };
  std::vector<gantry_device_id> found;
  for (std::size_t i = 0; i < program.devices.size(); ++i) {
    GANTRY_TRY(const std::int32_t type, host_.device_type_in(code_->node, program.devices[i].type));
    const auto serves = [&](gantry_device_id each) { return serves_number(each.type, type); };
    const auto device = std::ranges::find_if(devices, serves);
    if (device != devices.end()) {
      found.push_back(*device);
    } else if (type == cpu_device_type) {
      found.push_back({cpu_device_type, 0});
    } else {
      return invalid("virtual device ", i, " is of type ", number_text(type),
                     ", the devices of the machine are ", join(devices, ", ", text_of))
          .with_reason("DEVICE");
    }
  }
  // Callers place inputs on the first device.
  const auto is_first = [&](gantry_device_id each) { return same_device(each, devices.front()); };
  if (!devices.empty() && std::ranges::none_of(found, is_first)) {
    return invalid("the code is made for ", join(found, ", ", text_of),
                   ", the devices of the machine are ", join(devices, ", ", text_of))
        .with_reason("DEVICE");
  }
  if (found[program.host_device].type != cpu_device_type) {
    return unsupported("the host of the code is ", text_of(found[program.host_device]),
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
  env_ = env != nullptr ? *env : gantry_env{devices_.front(), nullptr, nullptr, nullptr};
  streams_.reset(env_);
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
  // A limit of memory that objects reach has a location, too.
  Status done = guard([&] { return run_instructions(at, result); });
  if (!done.ok()) return with_location(std::move(done).failure(), *at);
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

void* Machine::stream_of(gantry_device_id device) const { return gantry_env_stream(&env_, device); }

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

Status Machine::invoke(const Instruction& at, const AnyRef* caller) {
  GANTRY_CHECK(transfer());
  const std::size_t caller_at = static_cast<std::size_t>(caller - registers_.data());
  const auto next = static_cast<std::uint32_t>(&at - code_->program.instructions.data()) + 1;
  GANTRY_CHECK(push_frame(at.a, next, at.dst));
  AnyRef* to = registers_.data() + frames_.back().base;
  for (const std::uint32_t reg : code_->program.registers_of(at))
    *to++ = registers_[caller_at + reg];
  return {};
}

Status Machine::invoke_closure(const Instruction& at, const AnyRef* caller) {
  GANTRY_CHECK(transfer());
  GANTRY_TRY(const TupleObject* const closure, tuple_in(caller, at.a, ObjectKind::closure));
  const auto function = static_cast<std::uint32_t>(closure->tag);
  GANTRY_CHECK(check_arguments(function, closure->fields.size() + at.count));
  const std::size_t caller_at = static_cast<std::size_t>(caller - registers_.data());
  const auto next = static_cast<std::uint32_t>(&at - code_->program.instructions.data()) + 1;
  GANTRY_CHECK(push_frame(function, next, at.dst));
  AnyRef* to = registers_.data() + frames_.back().base;
  for (const AnyRef& captured : closure->fields) *to++ = captured;
  for (const std::uint32_t reg : code_->program.registers_of(at))
    *to++ = registers_[caller_at + reg];
  return {};
}

// Tuples are passed as their fields.
Status Machine::append_fields(const AnyRef* registers, std::uint32_t reg) {
  Object* const object = registers[reg].get();
  if (object == nullptr || object->kind != ObjectKind::tuple)
    return tensor_in(registers, reg).error();
  const auto& fields = static_cast<TupleObject*>(object)->fields;
  // Room for the fields besides the arguments of any instruction.
  if (arguments_.size() < argument_count_ + fields.size() + max_arguments_)
    arguments_.resize(argument_count_ + fields.size() + max_arguments_);
  for (const AnyRef& field : fields) {
    GANTRY_TRY(TensorObject* const tensor, tensor_in(&field, 0));
    arguments_[argument_count_++] = tensor_ref_value(&tensor->view);
  }
  return {};
}

// A call whose only output has no elements is not made.
Status Machine::invoke_packed(const Instruction& at, const AnyRef* registers) {
  argument_count_ = 0;
  for (const std::uint32_t reg : code_->program.registers_of(at)) {
    Object* const object = registers[reg].get();
    if (object != nullptr && object->kind == ObjectKind::tensor) [[likely]] {
      arguments_[argument_count_++] = tensor_ref_value(&static_cast<TensorObject*>(object)->view);
    } else {
      GANTRY_CHECK(append_fields(registers, reg));
    }
  }
  if (argument_count_ != 0) {
    const gantry_tensor& last = *arguments_[argument_count_ - 1].tensor;
    if (at.b == 1 && is_empty(last)) [[unlikely]]
      return {};
    if (!same_device(last.device, kernel_env_.device)) [[unlikely]]
      kernel_env_ = streams_.on(last.device);
  }
  gantry_value result{};
  const gantry_code code =
      host_.table()->call(host_.table(), packed_[at.a].get(), &kernel_env_, arguments_.data(),
                          static_cast<std::int32_t>(argument_count_), &result, status_to_write_);
  if (code != GANTRY_OK) [[unlikely]] {
    return status_.error(code, code_->program.packed_functions[at.a]);
  }
  if (result.kind >= GANTRY_OBJECT) [[unlikely]]
    gantry_release(result.object);
  return {};
}

Status Machine::alloc_storage(const Instruction& at, AnyRef* registers) {
  const RelayDevice& wanted = code_->program.devices[at.b];
  const gantry_device_id device = devices_[at.b];
  if (at.count != 0) {
    GANTRY_TRY(auto block, blocks_->take_scoped(device, wanted.scope, code_->program.extents_of(at),
                                                at.dtype, stream_of(device)));
    registers[at.dst] = heap_.storage(std::move(block));
    return {};
  }
  GANTRY_TRY(const std::int64_t bytes, integer_in(registers, at.a));
  if (bytes < 0)
    return invalid("storage has ", bytes, " bytes, minimum is 0").with_reason("STORAGE");
  GANTRY_TRY(auto block,
             blocks_->take(device, static_cast<std::uint64_t>(bytes), stream_of(device)));
  registers[at.dst] = heap_.storage(std::move(block));
  return {};
}

Status Machine::alloc_tensor(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(const std::int64_t offset, integer_in(registers, at.b));
  Ref<TensorObject> tensor = heap_.tensor();
  const auto extents = code_->program.extents_of(at);
  tensor->extents.assign(extents.begin(), extents.end());
  Object* const storage = registers[at.a].get();
  if (storage == nullptr || storage->kind != ObjectKind::storage)
    return invalid("register ", number_in_file(at.a), " has no storage").with_reason("REGISTER");
  GANTRY_CHECK(place(*tensor, Ref(static_cast<StorageObject*>(storage)), offset, at.dtype));
  registers[at.dst] = std::move(tensor);
  return {};
}

Status Machine::alloc_tensor_reg(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(const std::int64_t offset, integer_in(registers, at.b));
  GANTRY_TRY(TensorObject* const shape, tensor_in(registers, at.c));
  Ref<TensorObject> tensor = heap_.tensor();
  GANTRY_CHECK(read_extents(*shape, tensor->extents));
  Object* const storage = registers[at.a].get();
  if (storage == nullptr || storage->kind != ObjectKind::storage)
    return invalid("register ", number_in_file(at.a), " has no storage").with_reason("REGISTER");
  GANTRY_CHECK(place(*tensor, Ref(static_cast<StorageObject*>(storage)), offset, at.dtype));
  registers[at.dst] = std::move(tensor);
  return {};
}

Status Machine::alloc_tuple(const Instruction& at, ObjectKind kind, std::int64_t tag,
                            AnyRef* registers) {
  Ref<TupleObject> tuple = heap_.tuple(kind, tag, at.count);
  for (const std::uint32_t reg : code_->program.registers_of(at)) {
    if (!registers[reg])
      return invalid("register ", number_in_file(reg), " has no value").with_reason("REGISTER");
    tuple->fields.push_back(registers[reg]);
  }
  registers[at.dst] = std::move(tuple);
  return {};
}

Status Machine::get_field(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(const TupleObject* const tuple, tuple_in(registers, at.a, ObjectKind::tuple));
  if (static_cast<std::uint64_t>(at.value) >= tuple->fields.size()) {
    return invalid("field ", at.value, " of a tuple, field count is ", tuple->fields.size())
        .with_reason("REGISTER");
  }
  // The tuple may be released by this.
  AnyRef field = tuple->fields[static_cast<std::size_t>(at.value)];
  registers[at.dst] = std::move(field);
  return {};
}

Status Machine::shape_of(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(const TensorObject* const tensor, tensor_in(registers, at.a));
  const auto extents = gantry::shape_of(tensor->view);
  const std::int64_t rank[] = {static_cast<std::int64_t>(extents.size())};
  GANTRY_TRY(auto made, new_tensor(host_device(), dtypes::int64, rank));
  std::ranges::copy(extents, static_cast<std::int64_t*>(made->view.data));
  registers[at.dst] = std::move(made);
  return {};
}

Status Machine::reshape(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(TensorObject* const tensor, tensor_in(registers, at.a));
  GANTRY_TRY(TensorObject* const shape, tensor_in(registers, at.b));
  Ref<TensorObject> made = heap_.tensor();
  GANTRY_CHECK(read_extents(*shape, made->extents));
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(made->extents, tensor->view.dtype));
  GANTRY_TRY(const std::uint64_t expected,
             tensor_bytes(gantry::shape_of(tensor->view), tensor->view.dtype));
  if (bytes != expected) {
    return invalid(tensor_text(tensor->view), " as ", numbers_text(made->extents),
                   ", which has another size")
        .with_reason("REGISTER");
  }
  made->view = tensor->view;
  made->view.ndim = static_cast<std::int32_t>(made->extents.size());
  made->view.shape = made->extents.data();
  made->storage = tensor->storage;
  made->owner = tensor->owner;
  made->is_constant = tensor->is_constant;
  made->host_data = tensor->host_data;
  registers[at.dst] = std::move(made);
  return {};
}

Status Machine::copy_to_device(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(const TensorObject* const tensor, tensor_in(registers, at.a));
  if (!same_device(tensor->view.device, devices_[at.b])) {
    return invalid("tensor is on ", host_.device_text(tensor->view.device), ", expected ",
                   host_.device_text(devices_[at.b]))
        .with_reason("REGISTER");
  }
  GANTRY_TRY(auto copy,
             new_tensor(devices_[at.c], tensor->view.dtype, gantry::shape_of(tensor->view),
                        code_->program.devices[at.c].scope));
  GANTRY_CHECK(host_.tensor_copy(tensor->view, copy->view, &env_));
  registers[at.dst] = std::move(copy);
  return {};
}

namespace {

// Of tuples in arguments and results.
constexpr std::uint32_t max_nesting = 256;

// Of one result: a tuple may contain another one several times, so a few instructions can make any
// number.
constexpr std::uint32_t max_exported = 65536;

constexpr std::string_view kind_names[] = {"a tensor", "a storage", "a tuple", "a closure"};

std::string found_text(const Object* object) {
  return std::string(object == nullptr ? "nothing"
                                       : kind_names[static_cast<std::size_t>(object->kind)]);
}

std::uint64_t element_count(std::span<const std::int64_t> extents) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : extents) count *= static_cast<std::uint64_t>(extent);
  return count;
}

// Precondition: the tensor has strides.
std::span<const std::int64_t> strides_of(const gantry_tensor& tensor) {
  return {tensor.strides, static_cast<std::size_t>(tensor.ndim)};
}

// Reads a number of a width. A truth value is 0 or 1.
template <class Number>
std::int64_t number_at(const std::uint8_t* data) {
  Number number;
  std::memcpy(&number, data, sizeof number);
  return static_cast<std::int64_t>(number);
}

bool is_integer(gantry_dtype dtype) {
  const auto code = static_cast<TypeCode>(dtype.code);
  const bool has_width = dtype.bits == 1 || dtype.bits == 8 || dtype.bits == 16 ||
                         dtype.bits == 32 || dtype.bits == 64;
  return dtype.lanes == 1 && has_width &&
         (code == TypeCode::int_ || code == TypeCode::uint || code == TypeCode::bool_);
}

}  // namespace

Result<TensorObject*> Machine::tensor_in(const AnyRef* registers, std::uint32_t reg) const {
  Object* const object = registers[reg].get();
  if (object != nullptr && object->kind == ObjectKind::tensor)
    return static_cast<TensorObject*>(object);
  return invalid("register ", number_in_file(reg), " has ", found_text(object),
                 ", expected a tensor")
      .with_reason("REGISTER");
}

Result<TupleObject*> Machine::tuple_in(const AnyRef* registers, std::uint32_t reg,
                                       ObjectKind kind) const {
  Object* const object = registers[reg].get();
  if (object != nullptr && object->kind == kind) return static_cast<TupleObject*>(object);
  return invalid("register ", number_in_file(reg), " has ", found_text(object), ", expected ",
                 kind_names[static_cast<std::size_t>(kind)])
      .with_reason("REGISTER");
}

Result<const std::uint8_t*> Machine::host_data(TensorObject& tensor, Ref<TensorObject>& copy) {
  if (tensor.host_data != nullptr) return tensor.host_data;
  const TensorObject* at = &tensor;
  if (tensor.view.device.type != cpu_device_type) {
    GANTRY_TRY(copy, new_tensor(host_device(), tensor.view.dtype, gantry::shape_of(tensor.view)));
    GANTRY_CHECK(host_.tensor_copy(tensor.view, copy->view, &env_));
    at = copy.get();
  }
  return static_cast<const std::uint8_t*>(at->view.data) + at->view.byte_offset;
}

Result<std::int64_t> Machine::integer_in(const AnyRef* registers, std::uint32_t reg) {
  GANTRY_TRY(TensorObject* const tensor, tensor_in(registers, reg));
  const gantry_dtype dtype = tensor->view.dtype;
  if (!is_integer(dtype) || element_count(gantry::shape_of(tensor->view)) == 0) {
    return invalid("register ", number_in_file(reg), " has ", tensor_text(tensor->view),
                   ", expected an integer")
        .with_reason("REGISTER");
  }
  Ref<TensorObject> copy;
  GANTRY_TRY(const std::uint8_t* const data, host_data(*tensor, copy));
  switch (dtype.bits) {
    case 1:
      return *data != 0 ? 1 : 0;
    case 8:
      return number_at<std::int8_t>(data);
    case 16:
      return number_at<std::int16_t>(data);
    case 32:
      return number_at<std::int32_t>(data);
    default:
      return number_at<std::int64_t>(data);
  }
}

// A list of extents, or a scalar for no extents.
Status Machine::read_extents(TensorObject& from, std::pmr::vector<std::int64_t>& extents) {
  const gantry_tensor& view = from.view;
  extents.clear();
  if (view.ndim == 0) return {};
  const bool is_list =
      view.ndim == 1 && view.shape[0] <= max_array_dimensions &&
      (same_dtype(view.dtype, dtypes::int64) || same_dtype(view.dtype, dtypes::int32));
  if (!is_list) {
    return invalid("shape is in ", tensor_text(view), ", expected int64 or int32 of at most ",
                   max_array_dimensions, " extents")
        .with_reason("REGISTER");
  }
  if (view.shape[0] == 0) return {};
  Ref<TensorObject> copy;
  GANTRY_TRY(const std::uint8_t* const data, host_data(from, copy));
  for (std::int64_t i = 0; i < view.shape[0]; ++i) {
    const std::int64_t extent = view.dtype.bits == 64 ? number_at<std::int64_t>(data + 8 * i)
                                                      : number_at<std::int32_t>(data + 4 * i);
    if (extent < 0)
      return invalid("extent ", i, " is ", extent, ", minimum is 0").with_reason("REGISTER");
    extents.push_back(extent);
  }
  return {};
}

Status Machine::place(TensorObject& tensor, Ref<StorageObject> storage, std::int64_t offset,
                      gantry_dtype dtype) {
  const Block& block = *storage->block;
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(tensor.extents, dtype));
  const auto begin = static_cast<std::uint64_t>(offset);
  if (offset < 0 || begin > block.size || bytes > block.size - begin) {
    return invalid("tensor of ", bytes, " bytes at offset ", offset, " of a storage of ",
                   block.size, " bytes")
        .with_reason("STORAGE");
  }
  // The content of a new tensor is undefined, so it may have memory of its own.
  if (!block.demands.allow_offset(begin)) {
    const gantry_device_id device = block.tensor.device;
    GANTRY_TRY(TakenBlock own, blocks_->take(device, bytes, stream_of(device)));
    return place(tensor, heap_.storage(std::move(own)), 0, dtype);
  }
  tensor.view = block.tensor;
  tensor.view.ndim = static_cast<std::int32_t>(tensor.extents.size());
  tensor.view.dtype = dtype;
  tensor.view.shape = tensor.extents.data();
  tensor.view.strides = nullptr;
  // Compiled code accepts an offset only where it declares one.
  if (block.is_opaque) {
    tensor.view.byte_offset += begin;
  } else {
    tensor.view.data = static_cast<char*>(tensor.view.data) + begin;
  }
  tensor.storage = std::move(storage);
  return {};
}

Result<Ref<TensorObject>> Machine::new_tensor(gantry_device_id device, gantry_dtype dtype,
                                              std::span<const std::int64_t> extents,
                                              std::string_view scope) {
  Ref<TensorObject> tensor = heap_.tensor();
  tensor->extents.assign(extents.begin(), extents.end());
  const bool is_plain = scope.empty() || scope == "global";
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(extents, dtype));
  auto block = is_plain ? blocks_->take(device, bytes, stream_of(device))
                        : blocks_->take_scoped(device, scope, extents, dtype, stream_of(device));
  if (!block.ok()) return std::move(block).failure();
  GANTRY_CHECK(place(*tensor, heap_.storage(std::move(*block)), 0, dtype));
  return tensor;
}

Result<Ref<TensorObject>> Machine::new_number(std::int64_t number, gantry_dtype dtype) {
  const std::int64_t one[] = {1};
  GANTRY_TRY(auto tensor, new_tensor(host_device(), dtype, one));
  std::memcpy(tensor->view.data, &number, dtype.bits / 8);
  return tensor;
}

// True if code on a device can use the memory of a tensor.
Result<bool> Machine::fits_in_place(const gantry_tensor& tensor, gantry_device_id device) {
  if (!same_device(tensor.device, device)) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  if (device.type == cpu_device_type) return is_aligned_in_place(address);
  if (tensor.byte_offset != 0) return false;
  GANTRY_TRY(const Demands demands, blocks_->demands_of(device));
  if (demands.padding != 1) {
    // What follows the tensor is unknown.
    GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(gantry::shape_of(tensor), tensor.dtype));
    if (bytes % demands.padding != 0) return false;
  }
  if (address % demands.alignment == 0) return true;
  GANTRY_TRY(const gantry_device found, host_.device(device));
  return (found.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0;
}

Result<AnyRef> Machine::import_tensor(const gantry_value& value, const gantry_tensor& tensor,
                                      gantry_device_id device) {
  if (!is_compact(tensor)) {
    return invalid("tensor ", tensor_text(tensor), " has strides ",
                   numbers_text(strides_of(tensor)), ", expected dense rows")
        .with_reason("ARGUMENT");
  }
  Ref<TensorObject> made = heap_.tensor();
  const bool is_cpu = device.type == cpu_device_type;
  GANTRY_TRY(const bool fits, fits_in_place(tensor, device));
  if (!fits) {
    GANTRY_TRY(auto copy, new_tensor(device, tensor.dtype, gantry::shape_of(tensor)));
    GANTRY_CHECK(host_.tensor_copy(tensor, copy->view, &env_));
    return AnyRef(std::move(copy));
  }
  made->view = tensor;
  made->view.strides = nullptr;
  if (is_cpu) {
    made->view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
    made->view.byte_offset = 0;
  }
  if (value.kind == GANTRY_TENSOR) {
    GANTRY_TRY(made->owner, host_.keep(value));
  }
  return AnyRef(std::move(made));
}

Result<AnyRef> Machine::import_value(const gantry_value& value, gantry_device_id device,
                                     std::uint32_t depth) {
  if (const gantry_tensor* const tensor = gantry_value_tensor(&value))
    return import_tensor(value, *tensor, device);
  if (value.kind != GANTRY_ARRAY || depth == max_nesting) {
    return invalid("value is ",
                   value.kind == GANTRY_ARRAY ? "nested too deeply" : kind_text(value.kind),
                   ", expected a tensor or arrays of tensors, nested ", max_nesting, " times")
        .with_reason("ARGUMENT_KIND");
  }
  GANTRY_TRY(const auto items, host_.items(value.object));
  Ref<TupleObject> tuple = heap_.tuple(ObjectKind::tuple, 0, items.size());
  for (const gantry_value& item : items) {
    GANTRY_TRY(AnyRef field, import_value(item, device, depth + 1));
    tuple->fields.push_back(std::move(field));
  }
  return AnyRef(std::move(tuple));
}

Result<Value> Machine::export_copy(TensorObject& tensor) {
  if (!tensor.copy) {
    GANTRY_TRY(auto copy,
               new_tensor(tensor.view.device, tensor.view.dtype, gantry::shape_of(tensor.view)));
    GANTRY_CHECK(host_.tensor_copy(tensor.view, copy->view, &env_));
    copied_.emplace_back(&tensor);
    tensor.copy = std::move(copy);
  }
  return export_tensor(*tensor.copy);
}

void Machine::drop_copies() {
  for (const Ref<TensorObject>& tensor : copied_) tensor->copy = {};
  copied_.clear();
}

// A view of a block that the caller of an earlier run has released is used again.
Result<Value> Machine::export_tensor(TensorObject& tensor) {
  const gantry_tensor& view = tensor.view;
  const auto is_same = [&](const gantry_tensor& other) {
    return other.data == view.data && other.byte_offset == view.byte_offset &&
           same_dtype(other.dtype, view.dtype) &&
           std::ranges::equal(gantry::shape_of(other), gantry::shape_of(view));
  };
  if (tensor.storage) {
    Block& block = *tensor.storage->block;
    if (block.exported.object() != nullptr && is_same(*block.exported.tensor()))
      return block.exported;
    GANTRY_TRY(block.exported, host_.tensor_view(view, block.memory.object()));
    return block.exported;
  }
  // A caller may write its results, and a tensor by reference need not outlive the call.
  if (tensor.is_constant || tensor.owner.object() == nullptr) return export_copy(tensor);
  if (is_same(*tensor.owner.tensor())) return tensor.owner;
  return host_.tensor_view(view, tensor.owner.object());
}

Result<Value> Machine::export_value(Object* object, std::uint32_t depth) {
  if (++exported_ > max_exported) {
    return exhausted("the result has more than ", max_exported, " items, the limit")
        .with_reason("VM_DEPTH");
  }
  if (object != nullptr && object->kind == ObjectKind::tensor)
    return export_tensor(static_cast<TensorObject&>(*object));
  if (object == nullptr || object->kind != ObjectKind::tuple) {
    return invalid("value is ", found_text(object), ", expected a tensor or a tuple of them")
        .with_reason("REGISTER");
  }
  if (depth == max_nesting) {
    return exhausted("tuples are nested more than ", max_nesting, " times, the limit")
        .with_reason("VM_DEPTH");
  }
  const auto& fields = static_cast<TupleObject*>(object)->fields;
  std::vector<Value> items;
  items.reserve(fields.size());
  for (const AnyRef& field : fields) {
    GANTRY_TRY(Value item, export_value(field.get(), depth + 1));
    items.push_back(std::move(item));
  }
  return host_.array(items);
}

void Machine::find_stretches() {
  batches_ = host_.extension<gantry_batch>(GANTRY_BATCH_1);
  const Program& program = code_->program;
  stretches_.clear();
  stretch_at_.assign(program.instructions.size(), 0);
  if (batches_ == nullptr) return;
  std::vector<bool> is_entered(program.instructions.size(), false);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.opcode == Opcode::jump || instruction.opcode == Opcode::branch)
      is_entered[instruction.c] = true;
    if (instruction.opcode == Opcode::branch) is_entered[instruction.first] = true;
  }
  const auto is_call = [&](std::uint32_t i) {
    return program.instructions[i].opcode == Opcode::invoke_packed;
  };
  for (const FunctionCode& function : program.functions) {
    for (std::uint32_t first = function.begin; first < function.end;) {
      std::uint32_t end = first + 1;
      while (end < function.end && is_call(first) && is_call(end) && !is_entered[end]) ++end;
      if (end - first > 1) {
        stretches_.push_back({first, end, {}, {}, {}, {}});
        stretch_at_[first] = static_cast<std::uint32_t>(stretches_.size());
      }
      first = end;
    }
  }
}

Status Machine::prepare(Stretch& stretch, gantry_device_id device) {
  const Program& program = code_->program;
  const std::span calls(program.instructions.data() + stretch.first, stretch.end - stretch.first);
  stretch.arguments.clear();
  stretch.arguments.reserve(stretch.cells.size());
  for (gantry_tensor& cell : stretch.cells) stretch.arguments.push_back(tensor_ref_value(&cell));
  std::vector<gantry_batch_call> prepared;
  const gantry_value* arguments = stretch.arguments.data();
  for (const Instruction& call : calls) {
    prepared.push_back(
        {packed_[call.a].get(), arguments, static_cast<std::int32_t>(call.count), 0, device});
    arguments += call.count;
  }
  gantry_object* batch = nullptr;
  StatusBuffer status;
  if (const gantry_code code =
          batches_->prepare(host_.table(), prepared.data(), prepared.size(), &batch, status.get()))
    return status.error(code, "prepare of gantry.batch/1");
  stretch.batch = ObjectRef::adopt(batch);
  stretch.device = device;
  return {};
}

bool Machine::fill_cells(Stretch& stretch, const AnyRef* registers,
                         gantry_device_id& device) const {
  const Program& program = code_->program;
  std::size_t filled = 0;
  for (std::uint32_t i = stretch.first; i < stretch.end; ++i) {
    const Instruction& call = program.instructions[i];
    if (call.count == 0) return false;
    for (const std::uint32_t reg : program.registers_of(call)) {
      const Object* const object = registers[reg].get();
      if (object == nullptr || object->kind != ObjectKind::tensor) return false;
      stretch.cells[filled++] = static_cast<const TensorObject*>(object)->view;
    }
    const gantry_tensor& last = stretch.cells[filled - 1];
    if (i == stretch.first) device = last.device;
    const bool is_empty = call.b == 1 && std::ranges::count(gantry::shape_of(last), 0) != 0;
    if (is_empty || !same_device(last.device, device)) return false;
  }
  return true;
}

Result<bool> Machine::run_stretch(const Instruction*& at, const AnyRef* registers) {
  // The host's spans of calls have the names of kernels.
  if (trace_.is_recording()) return false;
  const Program& program = code_->program;
  const auto index = static_cast<std::size_t>(at - program.instructions.data());
  Stretch& stretch = stretches_[stretch_at_[index] - 1];
  if (stretch.cells.empty()) {
    std::size_t count = 0;
    for (std::uint32_t i = stretch.first; i < stretch.end; ++i)
      count += program.instructions[i].count;
    stretch.cells.resize(count);
  }
  gantry_device_id device{};
  if (!fill_cells(stretch, registers, device)) return false;
  if (!stretch.batch || !same_device(stretch.device, device))
    GANTRY_CHECK(prepare(stretch, device));
  std::uint64_t failed = GANTRY_NO_CALL;
  const gantry_code code =
      batches_->run(host_.table(), stretch.batch.get(), &env_, &failed, status_to_write_);
  if (code != GANTRY_OK) [[unlikely]] {
    if (failed < stretch.end - stretch.first) at += failed;
    return status_.error(code, code_->program.packed_functions[at->a]);
  }
  at += stretch.end - stretch.first;
  return true;
}

}  // namespace gantry::relay
