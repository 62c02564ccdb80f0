// SPDX-License-Identifier: Apache-2.0
//
// The text of an executable's code, one instruction a line:
//
//     @main(x):  23 registers
//        0  load_const        $1 = c[0]
//        1  alloc_storage     $2 = $1 bytes, alignment 64, float32, device 0
//        3  alloc_tensor      $4 = float32[1, 64] in $2 at $3
//        7  invoke_packed     fused_dense(in: $0, $5; out: $4)
//        8  kill_register     $0
//        9  if                $4 == $1: 10, else 12
//
// $1 register, c[0] constant. Jumps have the number of the instruction that follows.
#pragma once

#include "core/formats/relay_program.hpp"

#include <cstdint>
#include <string>

namespace gantry::relay {

// Returns the text of one instruction, without its number and a line break. Control characters in
// names are escaped, and names of more than 128 characters truncated.
//
// function [in]   index of the function that contains it
std::string listing(const Program& program, std::uint32_t function, std::uint32_t instruction);

// Returns the text of all functions, each with an empty line after it.
std::string listing(const Program& program);

}  // namespace gantry::relay
