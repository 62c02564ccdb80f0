// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "refusal.hpp"

#include <algorithm>
#include <utility>

namespace gantry::relax {
namespace {

// Operands in place of a register.
constexpr std::int64_t void_register = std::int64_t{1} << 54;
constexpr std::int64_t vm_register = void_register + 1;

class Decoder {
 public:
  explicit Decoder(const Executable& executable) : from_(executable), words_(executable.words) {}

  Result<Program> decode() {
    GANTRY_CHECK(reserve());
    for (const std::uint32_t index : bytecode_functions()) {
      const Function& function = from_.functions[index];
      Status decoded = decode_function(function);
      if (!decoded.ok()) return in_function(std::move(decoded).error(), index, function.name);
      program_.functions[index].first_instruction = function.begin;
      program_.functions[index].max_arguments = max_arguments_;
      renumber_registers(program_.functions[index]);
    }
    const std::size_t count = from_.instruction_offsets.size();
    if (program_.instructions.size() != count) {
      return refuse(from_.instruction_offsets.offset_of(program_.instructions.size()), "code has ",
                    count, " instructions, its functions end at ", program_.instructions.size());
    }
    if (position_ != words_.size()) {
      return refuse(words_.offset_of(position_), "code has ", words_.size(),
                    " words, its instructions end at ", position_);
    }
    find_used_constants();
    return std::move(program_);
  }

 private:
  Status reserve() {
    const std::size_t count = from_.instruction_offsets.size();
    if (count > words_.size() / 2) {
      return refuse(from_.instruction_offsets.offset_of(0), "code has ", count, " instructions in ",
                    words_.size(), " words, each takes at least 2");
    }
    program_.instructions.reserve(count);
    program_.arguments.reserve(words_.size() - 2 * count);
    for (const Function& function : from_.functions) {
      program_.functions.push_back(
          {function.kind, function.parameter_count, function.register_count});
    }
    return {};
  }

  void find_used_constants() {
    const bool is_compiled = std::ranges::find(from_.functions, FunctionKind::vm_tir,
                                               &Function::kind) != from_.functions.end();
    program_.is_constant_used.assign(from_.constants.size(), is_compiled);
    for (const Argument& argument : program_.arguments) {
      if (argument.kind == ArgumentKind::constant)
        program_.is_constant_used[static_cast<std::size_t>(argument.value)] = true;
    }
  }

  // In the order of their instructions.
  std::vector<std::uint32_t> bytecode_functions() const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < from_.functions.size(); ++i) {
      if (from_.functions[i].kind == FunctionKind::bytecode) found.push_back(i);
    }
    std::ranges::stable_sort(found, {}, [&](std::uint32_t i) { return from_.functions[i].begin; });
    return found;
  }

  Status decode_function(const Function& function) {
    if (function.begin != program_.instructions.size()) {
      return refuse(function.range_at(), "its first instruction is ", function.begin,
                    ", the previous function ends at ", program_.instructions.size());
    }
    function_ = &function;
    max_arguments_ = 0;
    while (program_.instructions.size() < function.end) GANTRY_CHECK(decode_instruction());
    const Opcode last = program_.instructions.back().opcode;
    if (last == Opcode::ret || last == Opcode::jump) return {};
    return refuse(words_.offset_of(begin_), "its last instruction, ", function.end - 1, ", is ",
                  last == Opcode::call ? "a call" : "an if", ", expected ret or goto");
  }

  // Applies a function to the number of each register that the instructions of the current function name.
  void for_each_register(auto&& apply) {
    for (std::uint32_t i = function_->begin; i < function_->end; ++i) {
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
    const std::size_t index = program_.instructions.size();
    const std::int64_t offset = from_.instruction_offsets[index];
    begin_ = position_;
    if (offset != static_cast<std::int64_t>(position_)) {
      return refuse(from_.instruction_offsets.offset_of(index), "instruction ", index,
                    " begins at word ", offset, ", the previous one ends at ", position_);
    }
    GANTRY_TRY(const std::int64_t opcode, take("opcode"));
    if (opcode < 1 || opcode > 4) {
      return refuse_at(begin_, " has opcode ", opcode, ", range is 1 to 4");
    }
    Instruction instruction;
    instruction.opcode = static_cast<Opcode>(opcode);
    switch (instruction.opcode) {
      case Opcode::call: {
        GANTRY_CHECK(decode_call(instruction));
        break;
      }
      case Opcode::ret: {
        GANTRY_TRY(instruction.reg, take_register_or_void("result"));
        break;
      }
      case Opcode::jump: {
        GANTRY_TRY(instruction.target, take_target());
        break;
      }
      case Opcode::branch: {
        GANTRY_TRY(instruction.reg, take_index(register_count(), "condition", "register"));
        GANTRY_TRY(instruction.target, take_target());
        break;
      }
    }
    program_.instructions.push_back(instruction);
    return {};
  }

  Status decode_call(Instruction& call) {
    GANTRY_TRY(call.reg, take_register_or_void("destination"));
    const std::size_t callee_at = position_;
    GANTRY_TRY(call.target, take_index(program_.functions.size(), "callee", "function"));
    GANTRY_TRY(const std::int64_t count, take("argument count"));
    const std::size_t left = words_.size() - position_;
    if (count < 0 || count > static_cast<std::int64_t>(left)) {
      return refuse_at(position_ - 1, " has ", count, " arguments, words left are ", left);
    }
    const FunctionCode& callee = program_.functions[call.target];
    if (callee.kind != FunctionKind::packed && count != callee.parameter_count) {
      return refuse_at(callee_at, " calls function ", call.target, " ",
                       quoted(from_.functions[call.target].name), " with ", count,
                       " arguments, expected ", callee.parameter_count);
    }
    call.argument_count = static_cast<std::uint32_t>(count);
    call.first_argument = static_cast<std::uint32_t>(program_.arguments.size());
    max_arguments_ = std::max(max_arguments_, std::uint32_t{call.argument_count});
    for (std::int64_t i = 0; i < count; ++i) {
      GANTRY_TRY(const Argument argument, take_argument());
      program_.arguments.push_back(argument);
    }
    return {};
  }

  Result<Argument> take_argument() {
    GANTRY_TRY(const std::int64_t word, take("argument"));
    const auto kind = static_cast<std::uint64_t>(word) >> 56;
    const std::int64_t value =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(word) << 8) >> 8;
    switch (kind) {
      case 0: {
        if (value == void_register) return Argument{ArgumentKind::none};
        if (value == vm_register) return Argument{ArgumentKind::vm};
        return checked(ArgumentKind::reg, value, register_count(), "register");
      }
      case 1:
        return Argument{ArgumentKind::immediate, value};
      case 2:
        return checked(ArgumentKind::constant, value, from_.constants.size(), "constant");
      case 3:
        return checked(ArgumentKind::function, value, program_.functions.size(), "function");
      default:
        return refuse_at(position_ - 1, " has an argument of kind ", kind, ", range is 0 to 3");
    }
  }

  Result<Argument> checked(ArgumentKind kind, std::int64_t value, std::size_t count,
                           const char* item) const {
    GANTRY_CHECK(check_index(value, count, "argument", item));
    return Argument{kind, value};
  }

  Result<std::int64_t> take(const char* operand) {
    if (position_ < words_.size()) return words_[position_++];
    const std::size_t index = program_.instructions.size();
    return refuse(from_.instruction_offsets.offset_of(index), "instruction ", index,
                  ": the code ends before its ", operand);
  }

  // The word that was taken last is `index`.
  Status check_index(std::int64_t index, std::size_t count, const char* operand,
                     const char* item) const {
    if (index >= 0 && index < static_cast<std::int64_t>(count)) return {};
    return refuse_at(position_ - 1, " has ", item, " ", index, " as its ", operand, ", ", item,
                     " count is ", count);
  }

  Result<std::uint32_t> take_index(std::size_t count, const char* operand, const char* item) {
    GANTRY_TRY(const std::int64_t index, take(operand));
    GANTRY_CHECK(check_index(index, count, operand, item));
    return static_cast<std::uint32_t>(index);
  }

  Result<std::uint32_t> take_register_or_void(const char* operand) {
    if (position_ < words_.size() && words_[position_] == void_register) {
      ++position_;
      return no_register;
    }
    return take_index(register_count(), operand, "register");
  }

  Result<std::uint32_t> take_target() {
    GANTRY_TRY(const std::int64_t distance, take("distance"));
    const auto index = static_cast<std::int64_t>(program_.instructions.size());
    const std::int64_t back = function_->begin - index;
    const std::int64_t ahead = function_->end - index;
    if (distance < back || distance >= ahead) {
      return refuse_at(position_ - 1, " jumps by ", distance, ", range in its function is ", back,
                       " to ", ahead - 1);
    }
    return static_cast<std::uint32_t>(index + distance);
  }

  std::size_t register_count() const { return function_->register_count; }

  // Refuses the current instruction at one of its words.
  template <class... Parts>
  Failure refuse_at(std::size_t word, const Parts&... parts) const {
    return refuse(words_.offset_of(word), "instruction ", program_.instructions.size(), parts...);
  }

  const Executable& from_;
  const NumberView& words_;
  Program program_;
  // The next word.
  std::size_t position_ = 0;
  // The first word of the current instruction.
  std::size_t begin_ = 0;
  const Function* function_ = nullptr;
  std::uint32_t max_arguments_ = 0;
  std::vector<std::uint32_t> named_;
};

}  // namespace

Result<Program> decode(const Executable& executable) { return Decoder(executable).decode(); }

}  // namespace gantry::relax
