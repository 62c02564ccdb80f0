// SPDX-License-Identifier: Apache-2.0
//
// A fully connected layer: out[row, column] = dot(x[row], weight[column]) + bias[column]; with
// relu, negative results become 0.
//
// One work-group computes one element of out; blockIdx.x is its column, blockIdx.y its row.
// Adjacent threads read adjacent weights, and the sums are added in local memory.
#define THREADS 32

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void dense_opencl(
    __global const float* restrict x, __global const float* restrict weight,
    __global const float* restrict bias, __global float* restrict out, const int inputs,
    const int relu) {
  __local float sums[THREADS];
  const int thread = get_local_id(0);
  const size_t column = get_group_id(0);
  const size_t row = get_group_id(1);

  float sum = 0;
  for (int k = thread; k < inputs; k += THREADS) {
    sum += x[row * inputs + k] * weight[column * inputs + k];
  }
  sums[thread] = sum;
  for (int width = THREADS / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread < width) sums[thread] += sums[thread + width];
  }

  if (thread == 0) {
    const float value = sums[0] + bias[column];
    out[row * get_num_groups(0) + column] = relu && value < 0 ? 0 : value;
  }
}
