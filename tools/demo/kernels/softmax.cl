// SPDX-License-Identifier: Apache-2.0
//
// out = exp(x) / sum of exp(x), for each row of x. One work-group computes one row, blockIdx.x.
#define THREADS 32

// Returns the sum or the maximum of all threads' values to every thread.
float over_group(float value, bool add, __local float* values) {
  const int thread = get_local_id(0);
  values[thread] = value;
  for (int width = THREADS / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread < width) {
      const float other = values[thread + width];
      values[thread] = add ? values[thread] + other : fmax(values[thread], other);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  value = values[0];
  // All threads must have read the value before the next call writes.
  barrier(CLK_LOCAL_MEM_FENCE);
  return value;
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void softmax_opencl(
    __global const float* restrict x, __global float* restrict out, const int columns) {
  __local float values[THREADS];
  const size_t row = get_group_id(0) * columns;

  // The largest element is subtracted first, so that exp() does not overflow.
  float largest = -INFINITY;
  for (int i = get_local_id(0); i < columns; i += THREADS) largest = fmax(largest, x[row + i]);
  largest = over_group(largest, false, values);

  float sum = 0;
  for (int i = get_local_id(0); i < columns; i += THREADS) {
    out[row + i] = exp(x[row + i] - largest);
    sum += out[row + i];
  }
  sum = over_group(sum, true, values);
  for (int i = get_local_id(0); i < columns; i += THREADS) out[row + i] /= sum;
}
