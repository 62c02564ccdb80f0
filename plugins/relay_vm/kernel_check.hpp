// SPDX-License-Identifier: Apache-2.0
//
// What a kernel requires of its arguments, from the texts of the checks that TVM compiles into it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gantry::relay {

struct KernelCheck {
  // of the call
  std::size_t argument = 0;
  // "2 dimensions", "float32", "extent 64 in dimension 1"
  std::string expected;
  bool is_of_dtype = false;
};

// Reads the text of a check of an argument's shape or data type that has failed.
//
// text     [in]   "Assert fail: 2 == ..., arg.p0.ndim is expected to equal 2"
// returns  nullopt: another text, or one that does not number the argument
// source   apache/tvm src/tir/transforms/arg_binder.cc
std::optional<KernelCheck> read_kernel_check(std::string_view text);

}  // namespace gantry::relay
