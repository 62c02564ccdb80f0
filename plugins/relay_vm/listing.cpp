// SPDX-License-Identifier: Apache-2.0
#include "listing.hpp"

#include <gantry/concat.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/utf8.hpp>

namespace gantry::relay {
namespace {

// Limits the text that a few bytes of code become.
constexpr std::size_t max_shown_characters = 128;

std::string shown(std::string_view name) {
  const std::string_view first = first_characters(name, max_shown_characters);
  std::string text;
  append_escaped(text, first);
  return first.size() == name.size() ? text : text + "...";
}

std::string target(const Program& program, std::uint32_t function, std::uint32_t instruction) {
  return concat(instruction - program.functions[function].begin);
}

std::string operands(const Program& program, std::uint32_t function, const Instruction& at) {
  const auto reg = [&](std::uint32_t index) {
    return concat('$', program.number_in_file(program.functions[function], index));
  };
  const auto list = [&](std::span<const std::uint32_t> registers) {
    return join(registers, ", ", reg);
  };
  const auto registers = [&] { return program.registers_of(at); };
  switch (at.opcode) {
    case Opcode::move:
      return concat(reg(at.dst), " = ", reg(at.a));
    case Opcode::ret:
      return reg(at.a);
    case Opcode::invoke:
      return concat(reg(at.dst), " = ", shown(program.functions[at.a].name), '(', list(registers()),
                    ')');
    case Opcode::invoke_closure:
      return concat(reg(at.dst), " = ", reg(at.a), '(', list(registers()), ')');
    case Opcode::invoke_packed:
      return concat(shown(program.packed_functions[at.a]),
                    "(in: ", list(registers().first(at.count - at.b)),
                    "; out: ", list(registers().last(at.b)), ')');
    case Opcode::alloc_tensor:
      return concat(reg(at.dst), " = ", type_text(at.dtype, program.extents_of(at)), " in ",
                    reg(at.a), " at ", reg(at.b));
    case Opcode::alloc_tensor_reg:
      return concat(reg(at.dst), " = ", dtype_text(at.dtype), '[', reg(at.c), "] in ", reg(at.a),
                    " at ", reg(at.b));
    case Opcode::alloc_data:
      return concat(reg(at.dst), " = tag ", at.value, " (", list(registers()), ')');
    case Opcode::alloc_closure:
      return concat(reg(at.dst), " = ", shown(program.functions[at.a].name), " with (",
                    list(registers()), ')');
    case Opcode::get_field:
      return concat(reg(at.dst), " = ", reg(at.a), '[', at.value, ']');
    case Opcode::branch:
      return concat(reg(at.a), " == ", reg(at.b), ": ", target(program, function, at.c), ", else ",
                    target(program, function, at.first));
    case Opcode::load_const:
      return concat(reg(at.dst), " = c[", at.a, ']');
    case Opcode::jump:
      return target(program, function, at.c);
    case Opcode::get_tag:
      return concat(reg(at.dst), " = tag of ", reg(at.a));
    case Opcode::load_integer:
      return concat(reg(at.dst), " = ", at.value);
    case Opcode::fatal:
      return {};
    case Opcode::alloc_storage: {
      const std::string size =
          at.count != 0 ? type_text(at.dtype, program.extents_of(at)) : concat(reg(at.a), " bytes");
      return concat(reg(at.dst), " = ", size, ", alignment ", at.value, ", ", dtype_text(at.dtype),
                    ", device ", at.b);
    }
    case Opcode::shape_of:
      return concat(reg(at.dst), " = shape of ", reg(at.a));
    case Opcode::reshape_tensor:
      return concat(reg(at.dst), " = ", reg(at.a), " as [", reg(at.b), ']');
    case Opcode::device_copy:
      return concat(reg(at.dst), " = ", reg(at.a), " from device ", at.b, " to device ", at.c);
    case Opcode::kill_register:
      return reg(at.dst);
  }
  return {};
}

}  // namespace

std::string listing(const Program& program, std::uint32_t function, std::uint32_t instruction) {
  constexpr std::size_t name_width = 18;
  const Instruction& at = program.instructions[instruction];
  std::string text(name_of(at.opcode));
  const std::string rest = operands(program, function, at);
  if (!rest.empty()) text.append(name_width - text.size(), ' ');
  return text + rest;
}

std::string listing(const Program& program) {
  constexpr std::size_t number_width = 6;
  std::string text;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    const FunctionCode& function = program.functions[f];
    append(text, {'@', shown(function.name), '(', join(function.params, ", ", shown),
                  "):  ", function.register_count_in_file, " registers\n"});
    for (std::uint32_t i = function.begin; i < function.end; ++i) {
      const std::string number = concat(i - function.begin);
      if (number.size() < number_width) text.append(number_width - number.size(), ' ');
      append(text, {number, "  ", listing(program, f, i), '\n'});
    }
    text += '\n';
  }
  return text;
}

}  // namespace gantry::relay
