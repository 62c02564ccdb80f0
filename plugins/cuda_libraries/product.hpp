// SPDX-License-Identifier: Apache-2.0
//
// A product of matrices, and what the library applies to its sums:
//
//     C = activation(A op(B) + bias)
#pragma once

#include "function.hpp"

namespace gantry::cuda_libraries {

enum class ProductActivation : std::uint8_t {
  none,
  relu,
  // with tanh, as the library has it
  gelu,
};

struct ProductEpilogue {
  // One number for each column of C, of C's type, compact; NULL: none.
  const gantry_tensor* bias = nullptr;
  ProductActivation activation = ProductActivation::none;
};

// Computes matmul(A, B, C, transa, transb[, alpha[, beta]]) with cuBLASLt, in the call's stream.
//
// rank     [in]   2, or 3 for batches
// returns  INVALID      arguments, or a bias, that do not fit together
//          UNSUPPORTED  the library has no such product (the name of its status is in the error)
Status product_with(Services& services, const Call& call, std::int32_t rank,
                    const ProductEpilogue& after);

}  // namespace gantry::cuda_libraries
