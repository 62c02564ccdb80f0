// SPDX-License-Identifier: Apache-2.0
#include "listing.hpp"

#include <gantry/concat.hpp>
#include <gantry/utf8.hpp>

#include <string_view>

namespace gantry::relax {
namespace {

// Limits the text that a few bytes of code become.
constexpr std::size_t max_shown_characters = 128;

std::string shown_name(const FunctionCode& function) {
  const std::string_view shown = first_characters(function.name, max_shown_characters);
  std::string text;
  append_escaped(text, shown);
  return shown.size() == function.name.size() ? text : text + "...";
}

// Appends a text and blanks up to a width.
void append_column(std::string& to, std::string_view text, std::size_t width) {
  to += text;
  if (text.size() < width) to.append(width - text.size(), ' ');
}

std::string register_text(const Program& program, const FunctionCode& function, std::uint32_t reg) {
  return reg == no_register ? "%void" : concat('%', program.number_in_file(function, reg));
}

std::string argument_text(const Program& program, const FunctionCode& function,
                          const Argument& argument) {
  switch (argument.kind) {
    case ArgumentKind::reg:
      return register_text(program, function, static_cast<std::uint32_t>(argument.value));
    case ArgumentKind::immediate:
      return concat('i', argument.value);
    case ArgumentKind::constant:
      return concat("c[", argument.value, ']');
    case ArgumentKind::function:
      return concat("f[", shown_name(program.functions[argument.value]), ']');
    case ArgumentKind::none:
      return "%void";
    case ArgumentKind::vm:
      break;
  }
  return "%vm";
}

void append_call(std::string& to, const Program& program, const FunctionCode& function,
                 const Instruction& call) {
  append_column(to, "call", 6);
  append_column(to, shown_name(program.functions[call.target]), 16);
  std::string arguments;
  for (const Argument& argument : program.arguments_of(call)) {
    if (!arguments.empty()) arguments += ", ";
    arguments += argument_text(program, function, argument);
  }
  to += " in: ";
  append_column(to, arguments, 12);
  append(to, {" dst: ", register_text(program, function, call.reg)});
}

void append_instruction(std::string& to, const Program& program, const FunctionCode& function,
                        std::uint32_t index) {
  const Instruction& instruction = program.instructions[index];
  const std::int64_t distance = std::int64_t{instruction.target} - index;
  to += "  ";
  switch (instruction.opcode) {
    case Opcode::call:
      append_call(to, program, function, instruction);
      break;
    case Opcode::ret:
      append_column(to, "ret", 6);
      to += register_text(program, function, instruction.reg);
      break;
    case Opcode::jump:
      append_column(to, "goto", 6);
      append(to, {distance});
      break;
    case Opcode::branch:
      append_column(to, "If", 6);
      append(to, {register_text(program, function, instruction.reg), ", ", distance});
      break;
  }
  to += '\n';
}

void append_function(std::string& to, const Program& program, std::uint32_t index) {
  const FunctionCode& function = program.functions[index];
  append(to, {'@', shown_name(function)});
  switch (function.kind) {
    case FunctionKind::packed:
      to += " packed_func;\n";
      break;
    case FunctionKind::vm_tir:
      append(to, {" num_inputs=", function.parameter_count, " vm_tir_func;\n"});
      break;
    case FunctionKind::bytecode:
      to += ":\n";
      for (std::uint32_t i = 0; i < function.instruction_count; ++i) {
        append_instruction(to, program, function, function.first_instruction + i);
      }
      break;
  }
  to += '\n';
}

}  // namespace

std::string listing(const Program& program, std::uint32_t function) {
  std::string text;
  append_function(text, program, function);
  return text;
}

std::string listing(const Program& program) {
  std::string text;
  for (std::uint32_t i = 0; i < program.functions.size(); ++i) {
    append_function(text, program, i);
  }
  return text;
}

}  // namespace gantry::relax
