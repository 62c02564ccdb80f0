// SPDX-License-Identifier: Apache-2.0
//
// The code of an executable, verified and decoded. Every Program is valid: an interpreter checks no
// opcode, register number, jump, or index of a function, packed function, constant or device, nor
// the number of arguments of an invoke. It checks what registers contain.
//
// Each function ends with an instruction without a successor, so that the next instruction is in
// the function where there is one.
#pragma once

#include "core/formats/relay_code.hpp"
#include "core/formats/relay_opcode.hpp"

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::relay {

// Limits the memory of a frame. Values in real files are far below it.
constexpr std::uint64_t max_registers = std::uint64_t{1} << 20;

constexpr std::uint32_t no_register = UINT32_MAX;

struct Instruction {
  Opcode opcode = Opcode::fatal;
  gantry_dtype dtype{};
  std::uint32_t dst = no_register;
  std::uint32_t a = 0, b = 0, c = 0;
  // Of the list: index in Program::registers or Program::extents, and length. if: `first` is the
  // instruction that follows an unequal comparison.
  std::uint32_t first = 0, count = 0;
  std::int64_t value = 0;
};

struct FunctionCode {
  std::string_view name;
  std::vector<std::string_view> params;
  // Indices of Program::devices, one for each parameter.
  std::vector<std::uint32_t> param_devices;
  // At least the number of parameters, which are the first ones. Without those that no instruction names, whose number a file may
  // choose freely.
  std::uint32_t register_count = 0;
  // That of the file.
  std::uint32_t register_count_in_file = 0;
  // The numbers in the file of the registers after the parameters, in Program::numbers_in_file; none if they are the numbers here.
  std::uint32_t first_number = 0, renumbered_count = 0;
  // Indices of Program::instructions: begin <= i < end.
  std::uint32_t begin = 0, end = 0;
};

struct Program {
  std::vector<Instruction> instructions;
  std::vector<std::uint32_t> registers;
  std::vector<std::int64_t> extents;
  // By index of the global. Indices in instructions are indices in these lists.
  std::vector<FunctionCode> functions;
  std::vector<std::string_view> packed_functions;
  // Those of the code; those that it mentions, in v0.8, which has device types only.
  std::vector<RelayDevice> devices;
  std::uint32_t host_device = 0;
  // Of each constant: index of a device.
  std::vector<std::uint32_t> constant_devices;

  // See FunctionCode::first_number.
  std::vector<std::uint32_t> numbers_in_file;

  // Returns the number of a register in the file.
  std::uint32_t number_in_file(const FunctionCode& function, std::uint32_t reg) const {
    const auto params = static_cast<std::uint32_t>(function.params.size());
    if (function.renumbered_count == 0 || reg < params) return reg;
    return numbers_in_file[function.first_number + reg - params];
  }
  std::span<const std::uint32_t> registers_of(const Instruction& instruction) const {
    return std::span(registers).subspan(instruction.first, instruction.count);
  }
  std::span<const std::int64_t> extents_of(const Instruction& instruction) const {
    return std::span(extents).subspan(instruction.first, instruction.count);
  }
  // Indices of functions, ordered by name.
  std::vector<std::uint32_t> by_name;

  // costs    O(log functions)
  std::optional<std::uint32_t> find(std::string_view function) const;
};

// Verifies and decodes the code. The result has views of its texts.
//
// returns  MALFORMED  at the first wrong word or field, with the instruction and the function
// costs    time O(words + functions log functions), memory at most three times that of the words
// source   apache/tvm include/tvm/runtime/vm/bytecode.h, src/runtime/vm/vm.cc
Result<Program> decode(const RelayCode& code);

}  // namespace gantry::relay
