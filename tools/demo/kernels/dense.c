// SPDX-License-Identifier: Apache-2.0
//
// Fully connected layers: out[n, o] = sum over k of x[n, k] * weight[o, k], plus bias[o].
//
//     dense(x, weight, bias, out)        dense_relu(x, weight, bias, out)   negative results become 0
//
// The CPU runs the loops of this file, a device its kernel in dense.cu, dense.cl or dense.comp.
#include "launch.h"

enum { X, WEIGHT, BIAS, OUT, ARGUMENTS };

typedef struct layer {
  matrix x, weight, bias, out;
  int relu;
} layer;

// Eight independent sums: the compiler can keep them in vector registers without reordering the
// additions of any sum.
static float dot(const float* restrict a, const float* restrict b, int64_t count) {
  enum { LANES = 8 };
  float sums[LANES] = {0};
  int64_t k = 0;
  for (; k + LANES <= count; k += LANES) {
    for (int lane = 0; lane < LANES; ++lane) sums[lane] += a[k + lane] * b[k + lane];
  }
  float sum = 0;
  for (int lane = 0; lane < LANES; ++lane) sum += sums[lane];
  for (; k < count; ++k) sum += a[k] * b[k];
  return sum;
}

// Computes the elements first .. last-1 of the result, in row-major order.
static void run_part(const layer* all, int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) {
    const int64_t row = i / all->out.columns;
    const int64_t column = i % all->out.columns;
    const float* x = all->x.at + row * all->x.columns;
    const float* weight = all->weight.at + column * all->weight.columns;
    const float value = dot(x, weight, all->x.columns) + all->bias.at[column];
    all->out.at[i] = all->relu && value < 0 ? 0 : value;
  }
}

static int run_task(int task, TVMParallelGroupEnv* group, void* closure) {
  const layer* all = closure;
  const int64_t count = all->out.rows * all->out.columns;
  run_part(all, count * task / group->num_task, count * (task + 1) / group->num_task);
  return 0;
}

static int run(const char* function, const TVMValue* args, const int* type_codes, int n, int relu) {
  // Below this number of multiplications, waking other threads takes longer than the computation.
  const int64_t worth_sharing = 1 << 18;
  const int ndim[ARGUMENTS] = {2, 2, 1, 2};
  matrix m[ARGUMENTS];
  device where;
  if (read_matrices(function, args, type_codes, n, ARGUMENTS, ndim, m, &where) != 0) return -1;
  if (m[WEIGHT].columns != m[X].columns) {
    return refuse("%s: weight has %lld columns, x has %lld", function, (long long)m[WEIGHT].columns,
                  (long long)m[X].columns);
  }
  if (m[BIAS].columns != m[WEIGHT].rows) {
    return refuse("%s: bias has %lld elements, weight has %lld rows", function,
                  (long long)m[BIAS].columns, (long long)m[WEIGHT].rows);
  }
  if (m[OUT].rows != m[X].rows || m[OUT].columns != m[WEIGHT].rows) {
    return refuse("%s: out is %lld x %lld, expected %lld x %lld", function, (long long)m[OUT].rows,
                  (long long)m[OUT].columns, (long long)m[X].rows, (long long)m[WEIGHT].rows);
  }

  const int64_t elements = m[OUT].rows * m[OUT].columns;
  if (where.type != DL_CPU) {
    static kernel dense_kernel = {.names = {"dense_cuda", "dense_opencl", "dense_vulkan"}};
    const int64_t numbers[] = {m[X].columns, relu, m[OUT].columns, m[OUT].rows, GROUP_THREADS};
    return elements == 0 ? 0 : launch(&dense_kernel, where, m, ARGUMENTS, numbers, 5);
  }

  layer all = {m[X], m[WEIGHT], m[BIAS], m[OUT], relu};
  if (__TVMBackendParallelLaunch && elements * all.x.columns >= worth_sharing) {
    // 0: as many tasks as worker threads
    return __TVMBackendParallelLaunch(run_task, &all, 0);
  }
  run_part(&all, 0, elements);
  return 0;
}

PACKED_FUNCTION(dense) {
  (void)ret, (void)ret_code, (void)resource;
  return run("dense", args, type_codes, n, 0);
}

PACKED_FUNCTION(dense_relu) {
  (void)ret, (void)ret_code, (void)resource;
  return run("dense_relu", args, type_codes, n, 1);
}
