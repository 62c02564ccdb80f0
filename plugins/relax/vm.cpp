// SPDX-License-Identifier: Apache-2.0
#include "vm.hpp"

#include "builtin.hpp"
#include "closure.hpp"
#include "plugin.hpp"

#include <gantry/function_advice.hpp>
#include <gantry/join.hpp>
#include <gantry/opaque.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <optional>

namespace gantry::relax {
namespace {

// Calls of functions within functions, where the thread's stack has room for them.
constexpr std::uint32_t max_depth = 2000;

constexpr std::string_view nested_calls = "calls of functions of the virtual machine";

constexpr std::size_t max_listed_names = 16;

gantry_value address_value(const void* address) {
  gantry_value value{};
  value.kind = GANTRY_POINTER;
  value.p = const_cast<void*>(address);
  return value;
}

constinit thread_local Vm* running = nullptr;

// A list of values as compiled code indexes it.
static_assert(sizeof(Value) == sizeof(gantry_value));

}  // namespace

// Marks the machine as the one that runs on this thread.
class Vm::Entered {
 public:
  explicit Entered(Vm& vm) : vm_(vm), around_(std::exchange(running, &vm)) { ++vm_.depth_; }
  ~Entered() {
    --vm_.depth_;
    running = around_;
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Vm& vm_;
  Vm* const around_;
};

Result<Value> Vm::call_with(const Host& host, gantry_object* function, const gantry_env* env,
                            std::span<const gantry_value> args,
                            std::span<const std::int64_t> numbers) {
  if (numbers.empty()) return host.call(function, env, args);
  if (running == nullptr) {
    std::vector<gantry_value> all(args.begin(), args.end());
    for (const std::int64_t number : numbers) all.push_back(int_value(number));
    return host.call(function, env, all);
  }
  RegisterStack& stack = running->stack_;
  const std::size_t count = args.size() + numbers.size();
  GANTRY_CHECK(stack.reserve(count));
  const ArgumentList list(stack, count);
  const auto after = std::ranges::copy(args, list.data()).out;
  std::ranges::transform(numbers, after, int_value);
  return host.call(function, env, list.values());
}

Result<Vm*> Vm::of(const Call& call, std::size_t argument) {
  if (argument < call.args.size() && call.args[argument].kind == GANTRY_POINTER &&
      call.args[argument].p == running && running != nullptr)
    return running;
  return call.wrong(argument, "the virtual machine that runs");
}

Status Vm::check_room() {
  if (running != nullptr) return running->room_.check(nested_calls);
  StackRoom room;
  room.enter();
  return room.check(nested_calls);
}

Result<gantry_device_id> Vm::device(std::int64_t index) const {
  if (index == -1) return devices_.back();
  if (index >= 0 && index < static_cast<std::int64_t>(devices_.size()))
    return devices_[static_cast<std::size_t>(index)];
  return invalid("device ", index, " of the virtual machine, which has ", devices_.size())
      .with_reason("DEVICE");
}

// Functions of the executable's imports come first, as in TVM; then those of this plugin, which
// need no call through the host; then those of the runtime.
Result<ObjectRef> Vm::resolve(std::string_view name, const Builtin*& builtin) const {
  builtin = nullptr;
  auto found = host_.find_optional(code_->node, GANTRY_FIND_IMPORTS, name);
  if (!found.ok() || found->get() != nullptr) return found;
  builtin = find_builtin(name);
  if (builtin != nullptr) return ObjectRef();
  return host_.find(code_->node, GANTRY_FIND_GLOBALS, name);
}

// Returns the values of the functions that are arguments somewhere. Compiled code may use any.
Result<std::vector<Value>> Vm::make_functions(const std::vector<Callee>& callees) const {
  const std::vector<FunctionCode>& all = code_->program.functions;
  std::vector<bool> is_argument(all.size(), false);
  for (const Argument& argument : code_->program.arguments) {
    if (argument.kind == ArgumentKind::function)
      is_argument[static_cast<std::size_t>(argument.value)] = true;
  }
  const bool is_compiled = code_->code.compiled_function() != nullptr;
  std::vector<Value> functions(all.size());
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    if (!is_argument[i] && !is_compiled) continue;
    const FunctionCode& function = all[i];
    if (function.kind != FunctionKind::packed) {
      GANTRY_TRY(functions[i],
                 new_opaque(host_, std::make_unique<Closure>(host_, code_->pool->memory(), i)));
      continue;
    }
    ObjectRef object = callees[i].function;
    if (callees[i].builtin != nullptr) {
      GANTRY_TRY(object, host_.find(code_->node, GANTRY_FIND_GLOBALS, function.name));
    }
    gantry_value value{};
    value.kind = GANTRY_FUNCTION;
    value.object = object.take();
    functions[i] = Value::adopt(value);
  }
  return functions;
}

Status Vm::initialize(std::span<const gantry_device_id> devices, const gantry_env* env) {
  constexpr gantry_device_id cpu{cpu_device_type, 0};
  std::vector<gantry_device_id> all(devices.begin(), devices.end());
  if (all.empty() || all.back().type != cpu_device_type) all.push_back(cpu);

  const std::vector<FunctionCode>& functions = code_->program.functions;
  std::vector<Callee> callees(functions.size());
  std::vector<std::string_view> missing;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const FunctionCode& function = functions[i];
    if (function.kind == FunctionKind::bytecode) continue;
    const std::string name = function.kind == FunctionKind::vm_tir
                                 ? concat("__vmtir__", function.name)
                                 : std::string(function.name);
    auto found = resolve(name, callees[i].builtin);
    if (found.ok()) {
      callees[i].function = std::move(*found);
    } else if (found.error().code == Code::not_found) {
      missing.push_back(function.name);
    } else {
      return std::move(found).failure().at("while looking for ", quoted(function.name));
    }
  }
  if (!missing.empty()) {
    return with_advice(
        not_found("the executable requires ", join(missing, ", ", in_quotes, max_listed_names),
                  ", which neither its library nor this runtime has")
            .with_reason("FUNCTIONS_MISSING"),
        missing);
  }
  GANTRY_TRY(constants_, code_->constants(all.front(), env));
  GANTRY_TRY(functions_, make_functions(callees));
  captures_.reset();
  callees_ = std::move(callees);
  devices_ = std::move(all);
  return {};
}

Status Vm::check_count(std::uint32_t function, std::size_t count) const {
  const FunctionCode& callee = code_->program.functions[function];
  if (count == callee.parameter_count) return {};
  return raise(host_, "InternalError", "Invoking function ", callee.name, " expects ",
               callee.parameter_count, " arguments (", join(callee.parameter_names), "), but ",
               count, " arguments were provided.");
}

Result<Value> Vm::run(std::uint32_t function, const gantry_env* env,
                      std::span<const gantry_value> args) {
  // Registers outlive the call's arguments: results may be one of them.
  std::vector<Value> kept;
  kept.reserve(args.size());
  for (const gantry_value& arg : args) {
    GANTRY_TRY(Value value, keep_or_copy(host_, arg, env));
    kept.push_back(std::move(value));
  }
  const CallStreams streams(env != nullptr ? *env : gantry_env{});
  const gantry_env own = env_of(streams);
  return returned(
      enter(function, own, {reinterpret_cast<const gantry_value*>(kept.data()), kept.size()}), own);
}

Result<Value> Vm::returned(Result<Value> result, const gantry_env& env) const {
  if (depth_ != 0) return result;
  if (!result.ok()) return with_kind_of_allocation(host_, std::move(result));
  return constants_->without_constants(host_, std::move(*result), &env);
}

Result<Value> Vm::enter(std::uint32_t function, const gantry_env& env,
                        std::span<const gantry_value> args) {
  GANTRY_CHECK(check_count(function, args.size()));
  return call(function, env, args);
}

Result<Value> Vm::call(std::uint32_t function, const gantry_env& env,
                       std::span<const gantry_value> args) {
  const FunctionCode& own = code_->program.functions[function];
  if (own.kind == FunctionKind::packed) {
    const Callee& callee = callees_[function];
    if (callee.builtin != nullptr)
      return callee.builtin->call(host_, code_->pool->memory(), &env, args);
    return host_.call(callee.function.get(), &env, args);
  }
  if (depth_ == max_depth) {
    return exhausted("functions of the virtual machine call each other ", max_depth,
                     " times within each other, the limit")
        .with_reason("VM_DEPTH");
  }
  if (depth_ == 0) room_.enter();
  GANTRY_CHECK(room_.check(nested_calls));
  const Entered entered(*this);
  GANTRY_CHECK(stack_.reserve(own.register_count));
  Frame frame(stack_, own.register_count);
  for (std::uint32_t i = 0; i < args.size(); ++i) frame.copy(i, args[i]);
  return own.kind == FunctionKind::bytecode ? run_bytecode(function, env, frame)
                                            : run_compiled(function, env, frame);
}

void Vm::read_arguments(const Instruction& call, Frame& frame, gantry_value* out) {
  for (const Argument& argument : code_->program.arguments_of(call)) {
    switch (argument.kind) {
      case ArgumentKind::reg:
        *out++ = frame[static_cast<std::uint32_t>(argument.value)];
        break;
      case ArgumentKind::immediate:
        *out++ = int_value(argument.value);
        break;
      case ArgumentKind::constant:
        *out++ = constants_->values()[static_cast<std::size_t>(argument.value)].get();
        break;
      case ArgumentKind::function:
        *out++ = functions_[static_cast<std::size_t>(argument.value)].get();
        break;
      case ArgumentKind::none:
        *out++ = {};
        break;
      case ArgumentKind::vm:
        *out++ = address_value(this);
        break;
    }
  }
}

Result<Value> Vm::run_bytecode(std::uint32_t function, const gantry_env& env, Frame& frame) {
  const Program& program = code_->program;
  const FunctionCode& own = program.functions[function];
  GANTRY_CHECK(stack_.reserve(own.max_arguments));
  const ArgumentList list(stack_, own.max_arguments);
  gantry_value* const arguments = list.data();
  const Instruction* const first = program.instructions.data();
  for (const Instruction* at = first + own.first_instruction;;) {
    switch (at->opcode) {
      case Opcode::call: {
        GANTRY_CHECK(host_.check_task(&env));
        read_arguments(*at, frame, arguments);
        auto result = call(at->target, env, {arguments, at->argument_count});
        if (!result.ok()) [[unlikely]] {
          return std::move(result).failure().at(
              "in instruction ", at - first - own.first_instruction, " of function ",
              quoted(code_->program.functions[function].name), ", which calls ",
              quoted(code_->program.functions[at->target].name));
        }
        if (at->reg != no_register) frame.set(at->reg, std::move(*result));
        ++at;
        break;
      }
      case Opcode::ret:
        return at->reg != no_register ? frame.take(at->reg) : Value();
      case Opcode::jump:
        // A loop ends at the latest when its task is cancelled.
        GANTRY_CHECK(host_.check_task(&env));
        at = first + at->target;
        break;
      case Opcode::branch:
        at = frame[at->reg].i != 0 ? at + 1 : first + at->target;
        break;
    }
  }
}

Result<Value> Vm::run_compiled(std::uint32_t function, const gantry_env& env, Frame& frame) {
  const gantry_value lists[] = {address_value(this), address_value(frame.data()),
                                address_value(constants_->values().data()),
                                address_value(functions_.data())};
  auto done = host_.call(callees_[function].function.get(), &env, lists);
  if (!done.ok()) {
    return std::move(done).failure().at("in compiled function ",
                                        quoted(code_->program.functions[function].name));
  }
  return frame.take(code_->program.functions[function].parameter_count);
}

Result<Value> Vm::invoke_closure(gantry_object* closure, const gantry_env* env,
                                 std::span<const gantry_value> args) {
  // The function may be vm.builtin.invoke_closure.
  GANTRY_CHECK(check_room());
  const CallStreams streams(env != nullptr ? *env : gantry_env{});
  const gantry_env own = env_of(streams);
  if (closure->kind == GANTRY_FUNCTION) return host_.call(closure, &own, args);
  GANTRY_TRY(const Closure* const called, opaque_of<Closure>(host_, closure));
  // A closure may call another one that captures as much, and so on.
  const std::size_t count = args.size() + called->captured.size();
  GANTRY_CHECK(stack_.reserve(count));
  const ArgumentList list(stack_, count);
  const std::span<gantry_value> all = list.values();
  std::ranges::copy(args, all.begin());
  std::ranges::transform(called->captured, all.begin() + static_cast<std::ptrdiff_t>(args.size()),
                         &Value::get);
  if (called->other.object() != nullptr) return host_.call(called->other.object(), &own, all);
  if (called->function >= callees_.size())
    return invalid("closure is one of another executable").with_reason("RELAX");
  return returned(enter(called->function, own, all), own);
}

}  // namespace gantry::relax
