// SPDX-License-Identifier: Apache-2.0
//
// softmax(x, out): out = exp(x) / sum of exp(x), for each row of x. A device runs its kernel in
// softmax.cu, softmax.cl or softmax.comp.
#include "launch.h"

#include <math.h>

// Subtracts the largest element of the row first, so that exp() does not overflow.
static void softmax_row(const float* restrict x, float* restrict out, int64_t count) {
  float largest = x[0];
  for (int64_t i = 1; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = expf(x[i] - largest);
    sum += out[i];
  }
  for (int64_t i = 0; i < count; ++i) out[i] /= sum;
}

PACKED_FUNCTION(softmax) {
  (void)ret, (void)ret_code, (void)resource;
  const int ndim[2] = {2, 2};
  matrix m[2];
  device where;
  if (read_matrices("softmax", args, type_codes, n, 2, ndim, m, &where) != 0) return -1;
  if (m[0].rows != m[1].rows || m[0].columns != m[1].columns) {
    return refuse("softmax: out is %lld x %lld, x is %lld x %lld", (long long)m[1].rows,
                  (long long)m[1].columns, (long long)m[0].rows, (long long)m[0].columns);
  }
  if (m[0].rows == 0 || m[0].columns == 0) return 0;
  if (where.type != DL_CPU) {
    static kernel softmax_kernel = {.names = {"softmax_cuda", "softmax_opencl", "softmax_vulkan"}};
    const int64_t numbers[] = {m[0].columns, m[0].rows, GROUP_THREADS};
    return launch(&softmax_kernel, where, m, 2, numbers, 3);
  }
  for (int64_t row = 0; row < m[0].rows; ++row) {
    softmax_row(m[0].at + row * m[0].columns, m[1].at + row * m[1].columns, m[0].columns);
  }
  return 0;
}
