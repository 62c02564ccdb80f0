// SPDX-License-Identifier: Apache-2.0
//
// What the accelerator runs: for each work item a few words on a stack of floats.
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
// Words: get put scalar below (a parameter each), const (a number), add sub mul div max min, neg abs sqrt exp.
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
  exp
};

struct Step {
  Word word;
  // of get, put, scalar, below
  std::uint32_t parameter = 0;
  // of constant
  float number = 0;
};

struct Program {
  std::string name;
  std::vector<Step> steps;
};

constexpr std::size_t max_stack = 16;

// Reads the programs of a payload and proves each against its row of the kernel table: parameters are there and of the
// kind that the words want, the stack never falls below nothing or grows beyond most_stack, and ends empty. Then
// running one needs no more checks of that.
//
// at       [in]   offset of the text in the payload, for errors
// returns  MALFORMED  at the line; a kernel of the table without a program, or the other way round
gantry::Result<std::vector<Program>> read_programs(std::string_view text, std::uint64_t at,
                                                   const gantry::KernelTable& kernels);

// Is the parameter a buffer? All others are numbers.
inline bool is_buffer(gantry_dtype type) { return type.code == 3; }

}  // namespace abacus
