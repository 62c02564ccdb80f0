// SPDX-License-Identifier: Apache-2.0
//
// result = exp(x) / sum of exp(x), for each row of x. One work-group computes one row, blockIdx.x.
#version 450

const uint threads = 32;
layout(local_size_x = 32) in;

layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Result { float result[]; };
layout(push_constant) uniform Scalars { int columns; };

shared float values[threads];

// Returns the sum or the maximum of all threads' values to every thread.
float over_group(float value, bool add) {
  const uint thread = gl_LocalInvocationID.x;
  values[thread] = value;
  for (uint width = threads / 2; width > 0; width /= 2) {
    barrier();
    if (thread < width) {
      const float other = values[thread + width];
      values[thread] = add ? values[thread] + other : max(values[thread], other);
    }
  }
  barrier();
  value = values[0];
  // All threads must have read the value before the next call writes.
  barrier();
  return value;
}

void main() {
  const uint first = gl_LocalInvocationID.x;
  const uint row = gl_WorkGroupID.x * columns;

  // The largest element is subtracted first, so that exp() does not overflow.
  float largest = -3.402823466e38;
  for (uint i = first; i < columns; i += threads) largest = max(largest, x[row + i]);
  largest = over_group(largest, false);

  float sum = 0.0;
  for (uint i = first; i < columns; i += threads) {
    result[row + i] = exp(x[row + i] - largest);
    sum += result[row + i];
  }
  sum = over_group(sum, true);
  for (uint i = first; i < columns; i += threads) result[row + i] /= sum;
}
