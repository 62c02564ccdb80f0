// SPDX-License-Identifier: Apache-2.0
#include "core/formats/relax_program.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gantry::relax {
namespace {

// Operands in place of a register.
constexpr std::int64_t void_register = std::int64_t{1} << 54;
constexpr std::int64_t vm_register = void_register + 1;

// Adds a line of context with index and name of a function.
Error in_function(Error error, std::size_t index, std::string_view name) {
  return std::move(error).at("in function ", index, " ", quoted(name));
}

class Decoder {
 public:
  Decoder(const RelaxCode& code, const RelaxInstructions& instructions)
      : from_(code), words_(code.words), instructions_(instructions) {}

  Result<Program> decode() {
    GANTRY_CHECK(check_constants());
    GANTRY_CHECK(read_functions());
    const std::size_t count = from_.instruction_offsets.size();
    program_.instructions.reserve(count);
    program_.arguments.reserve(words_.size() - 2 * count);
    for (const std::uint32_t index : bytecode_functions()) {
      Status decoded = decode_function(index);
      if (!decoded.ok())
        return in_function(std::move(decoded).error(), index, program_.functions[index].name);
      renumber_registers(program_.functions[index]);
    }
    if (program_.instructions.size() != count) {
      return refuse_code(from_.instruction_offsets.offset_of(program_.instructions.size()),
                         "code has ", count, " instructions, its functions end at ",
                         program_.instructions.size());
    }
    GANTRY_CHECK(instructions_.check_end());
    find_used_constants();
    return std::move(program_);
  }

 private:
  Status check_constants() const {
    for (std::size_t i = 0; i < from_.constants.size(); ++i) {
      const ArrayRecord* const array = from_.constants.array(i);
      if (array == nullptr) continue;
      if (Status checked = check_array_bytes(*array); !checked.ok())
        return std::move(checked).error().at("in constant ", i);
    }
    return check_relax_scopes(from_);
  }

  Status read_functions() {
    program_.functions.reserve(from_.functions.size());
    for (std::size_t i = 0; i < from_.functions.size(); ++i) {
      const RelaxFunction& function = from_.functions[i];
      FunctionCode& code = program_.functions.emplace_back();
      code.name = function.name;
      code.kind = function.kind;
      code.parameter_names = function.parameter_names;
      if (function.kind == FunctionKind::packed) continue;
      if (Status read = read_function(function, code); !read.ok())
        return in_function(std::move(read).error(), i, function.name);
    }
    return order_by_name();
  }

  Status read_function(const RelaxFunction& function, FunctionCode& code) const {
    const std::int64_t results = function.kind == FunctionKind::vm_tir ? 1 : 0;
    const std::int64_t registers = function.register_count;
    if (registers < results || registers > std::int64_t{max_registers}) {
      return refuse_code(function.register_count_at(), "register count is ", registers,
                         ", range is ", results, " to ", max_registers);
    }
    const std::int64_t parameters = function.parameter_count;
    if (parameters < 0 || parameters > registers - results) {
      return refuse_code(function.parameter_count_at(), "parameter count is ", parameters,
                         ", range is 0 to ", registers - results, ", register count is ",
                         registers);
    }
    code.register_count = static_cast<std::uint32_t>(registers);
    code.parameter_count = static_cast<std::uint32_t>(parameters);
    const std::size_t names = function.parameter_names.size();
    if (names != 0 && names != code.parameter_count) {
      return refuse_code(function.parameter_names_at(), "parameter names are ", names,
                         ", expected none or ", code.parameter_count);
    }
    if (function.kind != FunctionKind::bytecode) return {};
    const std::size_t count = from_.instruction_offsets.size();
    if (function.begin < 0 || function.begin >= function.end ||
        function.end > static_cast<std::int64_t>(count)) {
      return refuse_code(function.range_at(), "instructions are ", function.begin, " up to ",
                         function.end, ", expected a part of 0 up to ", count);
    }
    code.first_instruction = static_cast<std::uint32_t>(function.begin);
    code.instruction_count = static_cast<std::uint32_t>(function.end - function.begin);
    return {};
  }

  Status order_by_name() {
    const std::vector<FunctionCode>& functions = program_.functions;
    std::vector<std::uint32_t>& order = program_.by_name;
    order.resize(functions.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(functions[i].name, i); });
    const auto same =
        std::ranges::adjacent_find(order, {}, [&](std::uint32_t i) { return functions[i].name; });
    if (same == order.end()) return {};
    const std::uint32_t second = *std::next(same);
    return in_function(refuse_code(from_.functions[second].at, "name is that of function ", *same),
                       second, functions[second].name);
  }

  void find_used_constants() {
    program_.is_constant_used.assign(from_.constants.size(), from_.compiled_function() != nullptr);
    for (const Argument& argument : program_.arguments) {
      if (argument.kind == ArgumentKind::constant)
        program_.is_constant_used[static_cast<std::size_t>(argument.value)] = true;
    }
  }

  // In the order of their instructions.
  std::vector<std::uint32_t> bytecode_functions() const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < program_.functions.size(); ++i) {
      if (program_.functions[i].kind == FunctionKind::bytecode) found.push_back(i);
    }
    std::ranges::stable_sort(
        found, {}, [&](std::uint32_t i) { return program_.functions[i].first_instruction; });
    return found;
  }

  Status decode_function(std::uint32_t index) {
    FunctionCode& function = program_.functions[index];
    if (function.first_instruction != program_.instructions.size()) {
      return refuse_code(from_.functions[index].range_at(), "its first instruction is ",
                         function.first_instruction, ", the previous function ends at ",
                         program_.instructions.size());
    }
    function_ = &function;
    end_ = function.first_instruction + function.instruction_count;
    while (program_.instructions.size() < end_) GANTRY_CHECK(decode_instruction());
    const Opcode last = program_.instructions.back().opcode;
    if (last == Opcode::ret || last == Opcode::jump) return {};
    return refuse_code(words_.offset_of(current_.begin), "its last instruction, ", end_ - 1,
                       ", is ", last == Opcode::call ? "a call" : "an if",
                       ", expected ret or goto");
  }

  // Applies a function to the number of each register that the instructions of the current function name.
  void for_each_register(auto&& apply) {
    for (std::uint32_t i = function_->first_instruction; i < end_; ++i) {
      Instruction& instruction = program_.instructions[i];
      if (instruction.opcode != Opcode::jump && instruction.reg != no_register)
        instruction.reg = apply(instruction.reg);
      for (std::uint32_t a = 0; a < instruction.argument_count; ++a) {
        Argument& argument = program_.arguments[instruction.first_argument + a];
        if (argument.kind == ArgumentKind::reg)
          argument.value = apply(static_cast<std::uint32_t>(argument.value));
      }
    }
  }

  // Registers that no instruction names take no memory.
  void renumber_registers(FunctionCode& function) {
    named_.clear();
    for_each_register([&](std::uint32_t reg) {
      if (reg >= function.parameter_count) named_.push_back(reg);
      return reg;
    });
    std::ranges::sort(named_);
    named_.erase(std::ranges::unique(named_).begin(), named_.end());
    const auto count = static_cast<std::uint32_t>(named_.size());
    if (function.parameter_count + count == function.register_count) return;
    for_each_register([&](std::uint32_t reg) {
      if (reg < function.parameter_count) return reg;
      const auto place = std::ranges::lower_bound(named_, reg) - named_.begin();
      return function.parameter_count + static_cast<std::uint32_t>(place);
    });
    function.register_count = function.parameter_count + count;
    function.first_register = static_cast<std::uint32_t>(program_.registers.size());
    function.renumbered_count = count;
    program_.registers.insert(program_.registers.end(), named_.begin(), named_.end());
  }

  Status decode_instruction() {
    GANTRY_TRY(current_, instructions_.next());
    const std::size_t operands = current_.begin + 1;
    Instruction instruction;
    instruction.opcode = current_.opcode;
    switch (instruction.opcode) {
      case Opcode::call: {
        GANTRY_CHECK(decode_call(instruction));
        break;
      }
      case Opcode::ret: {
        GANTRY_TRY(instruction.reg, register_or_void(operands, "result"));
        break;
      }
      case Opcode::jump: {
        GANTRY_TRY(instruction.target, target(operands));
        break;
      }
      case Opcode::branch: {
        GANTRY_TRY(instruction.reg, index(operands, register_count(), "condition", "register"));
        GANTRY_TRY(instruction.target, target(operands + 1));
        break;
      }
    }
    program_.instructions.push_back(instruction);
    return {};
  }

  Status decode_call(Instruction& call) {
    const std::size_t callee_at = current_.begin + 2;
    const std::size_t arguments = current_.begin + 4;
    GANTRY_TRY(call.reg, register_or_void(current_.begin + 1, "destination"));
    GANTRY_TRY(call.target, index(callee_at, program_.functions.size(), "callee", "function"));
    const std::size_t count = current_.end - arguments;
    const FunctionCode& callee = program_.functions[call.target];
    if (callee.kind != FunctionKind::packed && count != callee.parameter_count) {
      return refuse_at(callee_at, " calls function ", call.target, " ", quoted(callee.name),
                       " with ", count, " arguments, expected ", callee.parameter_count);
    }
    call.argument_count = static_cast<std::uint32_t>(count);
    call.first_argument = static_cast<std::uint32_t>(program_.arguments.size());
    function_->max_arguments =
        std::max(function_->max_arguments, std::uint32_t{call.argument_count});
    for (std::size_t at = arguments; at < current_.end; ++at) {
      GANTRY_TRY(const Argument argument, argument_at(at));
      program_.arguments.push_back(argument);
    }
    return {};
  }

  Result<Argument> argument_at(std::size_t at) const {
    const std::uint64_t kind = relax_argument_kind(words_[at]);
    const std::int64_t value = relax_argument_value(words_[at]);
    switch (kind) {
      case 0: {
        if (value == void_register) return Argument{ArgumentKind::none};
        if (value == vm_register) return Argument{ArgumentKind::vm};
        GANTRY_CHECK(check_index(at, value, register_count(), "argument", "register"));
        return Argument{ArgumentKind::reg, value};
      }
      case 1:
        return Argument{ArgumentKind::immediate, value};
      case relax_constant_kind: {
        GANTRY_CHECK(relax_constant_of(from_, current_, at));
        return Argument{ArgumentKind::constant, value};
      }
      case 3: {
        GANTRY_CHECK(check_index(at, value, program_.functions.size(), "argument", "function"));
        return Argument{ArgumentKind::function, value};
      }
      default:
        return refuse_at(at, " has an argument of kind ", kind, ", range is 0 to 3");
    }
  }

  // at       [in]   index of the word
  Status check_index(std::size_t at, std::int64_t index, std::size_t count, const char* operand,
                     const char* item) const {
    if (index >= 0 && index < static_cast<std::int64_t>(count)) return {};
    return refuse_at(at, " has ", item, " ", index, " as its ", operand, ", ", item, " count is ",
                     count);
  }

  Result<std::uint32_t> index(std::size_t at, std::size_t count, const char* operand,
                              const char* item) const {
    const std::int64_t index = words_[at];
    GANTRY_CHECK(check_index(at, index, count, operand, item));
    return static_cast<std::uint32_t>(index);
  }

  Result<std::uint32_t> register_or_void(std::size_t at, const char* operand) const {
    if (words_[at] == void_register) return no_register;
    return index(at, register_count(), operand, "register");
  }

  Result<std::uint32_t> target(std::size_t at) const {
    const std::int64_t distance = words_[at];
    const auto index = static_cast<std::int64_t>(current_.index);
    const std::int64_t back = function_->first_instruction - index;
    const std::int64_t ahead = end_ - index;
    if (distance < back || distance >= ahead) {
      return refuse_at(at, " jumps by ", distance, ", range in its function is ", back, " to ",
                       ahead - 1);
    }
    return static_cast<std::uint32_t>(index + distance);
  }

  std::size_t register_count() const { return function_->register_count; }

  // Refuses the current instruction at one of its words.
  template <class... Parts>
  Failure refuse_at(std::size_t word, const Parts&... parts) const {
    return refuse_code(words_.offset_of(word), "instruction ", current_.index, parts...);
  }

  const RelaxCode& from_;
  const NumbersAt& words_;
  RelaxInstructions instructions_;
  Program program_;
  // The function that is decoded, and the index after its last instruction.
  FunctionCode* function_ = nullptr;
  std::uint32_t end_ = 0;
  RelaxInstruction current_;
  std::vector<std::uint32_t> named_;
};

}  // namespace

std::optional<std::uint32_t> Program::find(std::string_view function) const {
  const auto name_of = [&](std::uint32_t i) { return functions[i].name; };
  const auto found = std::ranges::lower_bound(by_name, function, {}, name_of);
  if (found == by_name.end() || name_of(*found) != function) return std::nullopt;
  return *found;
}

Result<Program> decode(const RelaxCode& code) {
  GANTRY_TRY(const RelaxInstructions instructions, RelaxInstructions::of(code));
  return Decoder(code, instructions).decode();
}

}  // namespace gantry::relax
