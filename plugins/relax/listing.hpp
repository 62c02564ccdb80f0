// SPDX-License-Identifier: Apache-2.0
//
// The text of an executable's code, one instruction a line, in the form of TVM's `as_text`:
//
//     @main:
//       call  f                in: %0, i5, c[0] dst: %1
//       If    %1, 2
//       goto  2
//       call  step             in: %vm, f[main] dst: %void
//       ret   %1
//
//     @f packed_func;
//
//     @step num_inputs=1 vm_tir_func;
//
// %1 register, i5 immediate, c[0] constant, f[main] function. Jumps are relative to their own line.
#pragma once

#include "core/formats/relax_program.hpp"

#include <cstdint>
#include <string>

namespace gantry::relax {

// Returns the text of one function, with the empty line after it. Control characters in names are
// escaped, and names of more than 128 characters truncated.
//
// function [in]   its index
std::string listing(const Program& program, std::uint32_t function);

// Returns the text of all functions.
std::string listing(const Program& program);

}  // namespace gantry::relax
