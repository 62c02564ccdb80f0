// SPDX-License-Identifier: Apache-2.0
//
// An operator of graphs.
#include "cpu_code.h"

// The last tensor receives the sum of all elements of the others, float32 vectors.
FUNCTION(total) {
  UNUSED;
  float sum = 0;
  for (int i = 0; i + 1 < count; ++i) {
    Tensor* x = TENSOR_IN(i);
    if (!x) RAISE("TypeError", "Mismatched type of an argument, expected Tensor");
    for (int64_t k = 0; k < x->shape[0]; ++k) sum += ((float*)x->data)[k];
  }
  Tensor* y = TENSOR_IN(count - 1);
  if (!y) RAISE("TypeError", "Mismatched type of the result, expected Tensor");
  ((float*)y->data)[0] = sum;
  return 0;
}
