// SPDX-License-Identifier: Apache-2.0
//
// out = exp(x) / sum of exp(x), for each row of x. One block computes one row, blockIdx.x.
enum { SOFTMAX_THREADS = 32 };

// Returns the sum or the maximum of all threads' values to every thread.
static __device__ float over_block(float value, bool add, float* values) {
  const int thread = threadIdx.x;
  values[thread] = value;
  for (int width = SOFTMAX_THREADS / 2; width > 0; width /= 2) {
    __syncthreads();
    if (thread < width) {
      const float other = values[thread + width];
      values[thread] = add ? values[thread] + other : fmaxf(values[thread], other);
    }
  }
  __syncthreads();
  value = values[0];
  // All threads must have read the value before the next call writes.
  __syncthreads();
  return value;
}

extern "C" __global__ void __launch_bounds__(SOFTMAX_THREADS)
    softmax_cuda(const float* __restrict__ x, float* __restrict__ out, int columns) {
  __shared__ float values[SOFTMAX_THREADS];
  const int row = blockIdx.x * columns;

  // The largest element is subtracted first, so that exp() does not overflow.
  float largest = -3.402823466e38f;
  for (int i = threadIdx.x; i < columns; i += SOFTMAX_THREADS) {
    largest = fmaxf(largest, x[row + i]);
  }
  largest = over_block(largest, false, values);

  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += SOFTMAX_THREADS) {
    out[row + i] = expf(x[row + i] - largest);
    sum += out[row + i];
  }
  sum = over_block(sum, true, values);
  for (int i = threadIdx.x; i < columns; i += SOFTMAX_THREADS) out[row + i] /= sum;
}
