// SPDX-License-Identifier: Apache-2.0
//
// Half-precision helpers that compilers call by the names of libgcc and compiler-rt.
#pragma once

namespace gantry {

// Addresses of functions with the calling conventions of those compilers; NULL: this compiler cannot
// provide the function.
struct HalfHelpers {
  // halves as 16-bit integers
  void* float_to_half;
  void* half_to_float;
  // halves in floating-point registers, as LLVM 15 and newer pass them. Older compilers call
  // double_to_half, too, and expect an integer; on x86-64 it returns the result in both registers.
  void* double_to_half;
  void* float_to_register_half;
  void* register_half_to_float;
};

HalfHelpers half_helpers();

}  // namespace gantry
