// SPDX-License-Identifier: Apache-2.0
//
// Verifies and decodes the code of an executable, for decode().
//
//     program.cpp              devices, functions
//     decode_instruction.cpp   instructions
#pragma once

#include "program.hpp"

#include "core/formats/vm_constants.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace gantry::relay {

// Used once.
class Decoder {
 public:
  explicit Decoder(const RelayCode& code) : code_(code) {}
  Result<Program> decode();

 private:
  Error in_function(Error error, std::uint32_t index) const;
  bool has_virtual_devices() const { return code_.form->devices != RelayForm::Devices::none; }

  Status read_devices();
  // Returns the index of a device that a field states.
  Result<std::uint32_t> device_of(std::int64_t field, std::uint64_t at, std::string_view what);
  Status read_constant_devices();
  Status place_functions();
  Status describe_function(const RelayFunction& function, FunctionCode& to);

  // index    [in]   of the function in the file
  Status decode_function(std::uint32_t index);
  // Registers that no instruction names take no memory.
  void renumber_registers();
  Status decode_instruction(std::uint32_t index);
  Status decode_operand(Operand operand, Instruction& to);
  // What refers to several operands.
  Status check_operands(const Instruction& instruction) const;
  // Each takes the next words of the instruction.
  Result<std::int64_t> take(std::string_view operand);
  Status take_below(std::uint64_t count, std::string_view item, std::uint32_t& to);
  Status take_device(std::uint32_t& to);
  Status take_target(std::uint32_t& to);
  Status take_dtype(gantry_dtype& to);
  Status take_count(std::uint32_t& to);
  Status take_registers(Instruction& to);
  Status take_extents(Instruction& to);

  // Of the word that was taken last.
  std::uint64_t word_at() const { return RelayCode::word_at(*raw_, next_ == 0 ? 0 : next_ - 1); }

  template <class... Parts>
  Failure refuse_word(const Parts&... parts) const {
    return refuse_code(word_at(), parts...);
  }

  const RelayCode& code_;
  Program program_;
  // by index of the function in the file
  std::vector<std::uint32_t> global_of_function_;
  FunctionCode* function_ = nullptr;
  const RelayInstruction* raw_ = nullptr;
  std::uint32_t index_ = 0;
  // The next word.
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> named_;
};

}  // namespace gantry::relay
