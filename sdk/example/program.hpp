// SPDX-License-Identifier: Apache-2.0
//
// The language of the accelerator's kernels: for each work item, words on a stack of floats.
//
//     kernel axpy            # y[i] = a * x[i] + y[i], for i below n
//       below 3              # the item ends where its index is not below scalar parameter 3
//       get 1                # push element i of buffer parameter 1
//       scalar 0             # push scalar parameter 0
//       mul
//       get 2
//       add
//       put 2                # pop into element i of buffer parameter 2
//
// Words: get put scalar below (a parameter each), const (a number), add sub mul div max min,
// neg abs sqrt exp; lose, at which the device stops until the runtime ends.
#pragma once

#include <gantry/kernel_table.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace abacus {

enum class Word : std::uint8_t {
  get,
  put,
  scalar,
  below,
  constant,
  add,
  sub,
  mul,
  div,
  max,
  min,
  neg,
  abs,
  sqrt,
  exp,
  lose
};

struct Step {
  Word word;
  // Of get, put, scalar, below.
  std::uint32_t parameter = 0;
  // Of constant.
  float number = 0;
};

struct Program {
  std::string name;
  std::vector<Step> steps;
};

constexpr std::size_t max_stack = 16;

// Reads the programs of a payload, and checks each against its row of the kernel table: parameters
// exist and are of the kind that the words need, and the stack has 0 to max_stack numbers and is
// empty at the end. Running a program needs none of these checks.
//
// at       [in]   offset of the text in the payload, for errors
// returns  MALFORMED  at the line; a kernel of the table without a program, or a program that is in
//                     no row
gantry::Result<std::vector<Program>> read_programs(std::string_view text, std::uint64_t at,
                                                   const gantry::KernelTable& kernels);

// True if the parameter is a buffer; all others are numbers.
inline bool is_buffer(gantry_dtype type) { return type.code == 3; }

}  // namespace abacus
