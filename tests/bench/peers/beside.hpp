// SPDX-License-Identifier: Apache-2.0
//
// gantry and tvm-ffi in one process. The program opens both, so that it can choose the order; gantry
// is a library of its own.
#pragma once

#include <cstdint>

namespace gantry::bench {

// float32[beside_size] each
constexpr std::int64_t beside_size = 4;
constexpr float beside_a[beside_size] = {1, 2, 3, 4};
constexpr float beside_b[beside_size] = {10, 20, 30, 40};
// a + 2 b
constexpr float beside_c[beside_size] = {21, 42, 63, 84};

// `gantry_beside` of the library: loads the artifact, calls its function axpy2 correctly and without
// arguments, then `between`, then axpy2 again.
//
// returns  0; or 1 after it has printed what differs
using GantryBeside = int (*)(const char* artifact, int (*between)());

}  // namespace gantry::bench
