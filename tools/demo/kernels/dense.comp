// SPDX-License-Identifier: Apache-2.0
//
// A fully connected layer: result[row, column] = dot(x[row], weight[column]) + bias[column]; with
// relu, negative results become 0.
//
// One work-group computes one element of the result; blockIdx.x is its column, blockIdx.y its row.
// Adjacent threads read adjacent weights, and the sums are added in shared memory.
#version 450

const uint threads = 32;
layout(local_size_x = 32) in;

layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) readonly buffer Weight { float weight[]; };
layout(binding = 2) readonly buffer Bias { float bias[]; };
layout(binding = 3) writeonly buffer Result { float result[]; };

// Scalars are 8 bytes apart, as TVM's compilers place them.
layout(push_constant) uniform Scalars {
  layout(offset = 0) int inputs;
  layout(offset = 8) int relu;
};

shared float sums[threads];

void main() {
  const uint thread = gl_LocalInvocationID.x;
  const uint column = gl_WorkGroupID.x;
  const uint row = gl_WorkGroupID.y;

  float sum = 0.0;
  for (uint k = thread; k < inputs; k += threads) {
    sum += x[row * inputs + k] * weight[column * inputs + k];
  }
  sums[thread] = sum;
  for (uint width = threads / 2; width > 0; width /= 2) {
    barrier();
    if (thread < width) sums[thread] += sums[thread + width];
  }

  if (thread == 0) {
    const float value = sums[0] + bias[column];
    result[row * gl_NumWorkGroups.x + column] = relu != 0 && value < 0.0 ? 0.0 : value;
  }
}
