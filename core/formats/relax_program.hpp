// SPDX-License-Identifier: Apache-2.0
//
// The code of an executable, verified and decoded. Every Program is valid: an interpreter checks no
// opcode, register, jump, constant or function index, nor the number of arguments of a call.
//
//     const Instruction* const first = program.instructions.data();
//     for (const Instruction* at = first + program.functions[main].first_instruction;;) {
//       switch (at->opcode) {
//         case Opcode::call: call(program.functions[at->target], *at); ++at; break;
//         case Opcode::ret: return registers[at->reg];
//         case Opcode::jump: at = first + at->target; break;
//         case Opcode::branch: at = is_true(registers[at->reg]) ? at + 1 : first + at->target;
//       }
//     }
//
// Each function ends with a ret or a jump, so that `at + 1` is in the function where it is used.
#pragma once

#include "core/formats/relax_code.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::relax {

using FunctionKind = RelaxFunctionKind;
using Opcode = RelaxOpcode;

// Limits the memory of a frame. Values in real files are far below it.
constexpr std::uint64_t max_registers = std::uint64_t{1} << 20;

// The destination of a call whose result is dropped, and the result of a ret that returns nothing.
constexpr std::uint32_t no_register = UINT32_MAX;

struct Instruction {
  Opcode opcode = Opcode::ret;
  // call: below max_relax_words.
  std::uint32_t argument_count : 24 = 0;
  // call: destination, or no_register. ret: result, or no_register. branch: condition.
  std::uint32_t reg = 0;
  // call: index in Program::functions. jump: the next instruction; branch: the next one if the
  // condition is false. Indices in Program::instructions, of the same function.
  std::uint32_t target = 0;
  // call: index in Program::arguments.
  std::uint32_t first_argument = 0;
};
static_assert(sizeof(Instruction) == 16);

enum class ArgumentKind : std::uint32_t {
  // index of a register
  reg,
  // an integer of 56 bits
  immediate,
  // index in RelaxCode::constants
  constant,
  // index in Program::functions
  function,
  // the value None
  none,
  // the virtual machine, as an address
  vm,
};

struct Argument {
  ArgumentKind kind = ArgumentKind::none;
  // 0 for none and vm.
  std::int64_t value = 0;
};
static_assert(sizeof(Argument) == 16);

// A function, with what a call requires of it.
struct FunctionCode {
  std::string_view name;
  FunctionKind kind = FunctionKind::packed;
  // The numbers below are 0 for packed functions. bytecode and vm_tir: arguments of every direct
  // call; at most register_count, and the first registers.
  std::uint32_t parameter_count = 0;
  // bytecode: without those that no instruction names, whose number a file may choose freely.
  // vm_tir: register parameter_count exists and receives the result.
  std::uint32_t register_count = 0;
  // One for each parameter, or empty; any for packed functions.
  std::span<const std::string_view> parameter_names;
  // bytecode: indices in Program::instructions, at least one.
  std::uint32_t first_instruction = 0;
  std::uint32_t instruction_count = 0;
  // bytecode: arguments of its call with the most arguments.
  std::uint32_t max_arguments = 0;
  // The numbers in the file of the registers after the parameters, in Program::registers; none if they are the numbers here.
  std::uint32_t first_register = 0;
  std::uint32_t renumbered_count = 0;
};

struct Program {
  // Those of all functions, in the order of the file.
  std::vector<Instruction> instructions;
  std::vector<Argument> arguments;
  // In the order of the file.
  std::vector<FunctionCode> functions;
  // Indices of functions, ordered by name.
  std::vector<std::uint32_t> by_name;
  // For each constant whether the code can refer to it. Compiled functions can refer to any.
  std::vector<bool> is_constant_used;
  // See FunctionCode::first_register.
  std::vector<std::uint32_t> registers;

  // Returns the index of a function.
  //
  // costs    O(log functions)
  std::optional<std::uint32_t> find(std::string_view function) const;
  // Returns the number of a register in the file.
  std::uint32_t number_in_file(const FunctionCode& function, std::uint32_t reg) const {
    if (function.renumbered_count == 0 || reg < function.parameter_count) return reg;
    return registers[function.first_register + reg - function.parameter_count];
  }

  std::span<const Argument> arguments_of(const Instruction& call) const {
    return std::span(arguments).subspan(call.first_argument, call.argument_count);
  }
};

// Verifies and decodes the code. The result has views of its texts, and of its lists of parameter
// names.
//
// returns  MALFORMED  at the first wrong word or field, with the function
// costs    time O(words + functions log functions), memory at most twice that of the words
// source   apache/tvm include/tvm/runtime/vm/bytecode.h, src/runtime/vm/vm.cc
Result<Program> decode(const RelaxCode& code);

}  // namespace gantry::relax
