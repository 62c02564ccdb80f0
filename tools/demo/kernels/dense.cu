// SPDX-License-Identifier: Apache-2.0
//
// A fully connected layer: out[row, column] = dot(x[row], weight[column]) + bias[column]; with
// relu, negative results become 0.
//
// One block computes one element of out; blockIdx.x is its column, blockIdx.y its row. Adjacent
// threads read adjacent weights, and the sums are added in shared memory.
enum { DENSE_THREADS = 32 };

extern "C" __global__ void __launch_bounds__(DENSE_THREADS)
    dense_cuda(const float* __restrict__ x, const float* __restrict__ weight,
               const float* __restrict__ bias, float* __restrict__ out, int inputs, int relu) {
  __shared__ float sums[DENSE_THREADS];
  const int thread = threadIdx.x;
  const int column = blockIdx.x;
  const int row = blockIdx.y;

  float sum = 0;
  for (int k = thread; k < inputs; k += DENSE_THREADS) {
    sum += x[row * inputs + k] * weight[column * inputs + k];
  }
  sums[thread] = sum;
  for (int width = DENSE_THREADS / 2; width > 0; width /= 2) {
    __syncthreads();
    if (thread < width) sums[thread] += sums[thread + width];
  }

  if (thread == 0) {
    const float value = sums[0] + bias[column];
    out[row * gridDim.x + column] = relu && value < 0 ? 0 : value;
  }
}
