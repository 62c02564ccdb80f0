// SPDX-License-Identifier: Apache-2.0
//
// The opcodes of the Relay virtual machine, and the operands of each, in the order of the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gantry::relay {

// Has the values in the file.
enum class Opcode : std::uint8_t {
  move = 0,
  ret = 1,
  invoke = 2,
  invoke_closure = 3,
  invoke_packed = 4,
  alloc_tensor = 5,
  alloc_tensor_reg = 6,
  alloc_data = 7,
  alloc_closure = 8,
  get_field = 9,
  branch = 10,
  load_const = 11,
  jump = 12,
  get_tag = 13,
  load_integer = 14,
  fatal = 15,
  alloc_storage = 16,
  shape_of = 17,
  reshape_tensor = 18,
  device_copy = 19,
  kill_register = 20,
};
constexpr std::size_t opcode_count = 21;

// One operand: what it is, and the member of Instruction that has it. All but dtype are one word.
enum class Operand : std::uint8_t {
  // after the last one
  none,
  // dst: written
  dst,
  // a, b, c: registers that are read
  reg_a,
  reg_b,
  reg_c,
  // a
  function,
  packed,
  constant,
  // b, c
  device_b,
  device_c,
  // b: arguments at the end of the list that are outputs
  outputs,
  // c, first: instructions of the same function
  target,
  else_target,
  // value: any number; an index that is not negative
  value,
  index,
  // dtype: code, bits, lanes
  dtype,
  // count: length of the list that ends the instruction
  count,
  // In v0.14 and later only: count; a device that is not used, as the constant has one.
  count_of_scoped,
  device_of_scoped,
  // Lists; of registers that are read, and of extents.
  registers,
  extents,
};

struct OpcodeRow {
  std::string_view name;
  std::array<Operand, 8> operands;
};

// By value of the opcode.
//
// source   apache/tvm src/runtime/vm/executable.cc
inline constexpr std::array<OpcodeRow, opcode_count> opcode_table = {{
    {"move", {Operand::reg_a, Operand::dst}},
    {"ret", {Operand::reg_a}},
    {"invoke", {Operand::function, Operand::count, Operand::dst, Operand::registers}},
    {"invoke_closure", {Operand::reg_a, Operand::count, Operand::dst, Operand::registers}},
    {"invoke_packed", {Operand::packed, Operand::count, Operand::outputs, Operand::registers}},
    {"alloc_tensor",
     {Operand::reg_a, Operand::reg_b, Operand::dtype, Operand::count, Operand::dst,
      Operand::extents}},
    {"alloc_tensor_reg",
     {Operand::reg_a, Operand::reg_b, Operand::reg_c, Operand::dtype, Operand::dst}},
    {"alloc_data", {Operand::value, Operand::count, Operand::dst, Operand::registers}},
    {"alloc_closure", {Operand::function, Operand::count, Operand::dst, Operand::registers}},
    {"get_field", {Operand::reg_a, Operand::index, Operand::dst}},
    {"if", {Operand::reg_a, Operand::reg_b, Operand::target, Operand::else_target}},
    {"load_const", {Operand::constant, Operand::device_of_scoped, Operand::dst}},
    {"goto", {Operand::target}},
    {"get_tag", {Operand::reg_a, Operand::dst}},
    {"load_consti", {Operand::value, Operand::dst}},
    {"fatal", {}},
    {"alloc_storage",
     {Operand::reg_a, Operand::value, Operand::dtype, Operand::device_b, Operand::count_of_scoped,
      Operand::dst, Operand::extents}},
    {"shape_of", {Operand::reg_a, Operand::dst}},
    {"reshape_tensor", {Operand::reg_a, Operand::reg_b, Operand::dst}},
    {"device_copy", {Operand::reg_a, Operand::device_b, Operand::device_c, Operand::dst}},
    {"kill_register", {Operand::dst}},
}};

constexpr std::string_view name_of(Opcode opcode) {
  return opcode_table[static_cast<std::size_t>(opcode)].name;
}

}  // namespace gantry::relay
