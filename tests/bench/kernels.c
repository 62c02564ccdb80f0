// SPDX-License-Identifier: Apache-2.0
//
// CPU code of the measured artifacts: packed functions that do almost no work, so that the
// benchmarks measure calls, and the bare loop for comparison.
#include <stdint.h>
#include <time.h>

typedef union {
  int64_t i;
  double f;
  void* p;
} value;
typedef int (*packed)(value* args, int* codes, int count, value* result, int* result_code,
                      void* resource);
typedef struct {
  void* data;
  // DLTensor's first member
} tensor;

// Sums two integers and two floats into an integer.
int sum4(value* args, int* codes, int count, value* result, int* result_code, void* resource) {
  (void)codes, (void)count, (void)resource;
  result->i = args[0].i + args[1].i + (int64_t)(args[2].f + args[3].f);
  *result_code = 0;
  return 0;
}

// out[0] = in[0] + 1
int add_one(value* args, int* codes, int count, value* result, int* result_code, void* resource) {
  (void)codes, (void)count, (void)result, (void)result_code, (void)resource;
  const float* in = ((const tensor*)args[0].p)->data;
  float* out = ((const tensor*)args[1].p)->data;
  out[0] = in[0] + 1;
  return 0;
}

// out[0] = in[0] + parameter[0]
int add_first(value* args, int* codes, int count, value* result, int* result_code, void* resource) {
  (void)codes, (void)count, (void)result, (void)result_code, (void)resource;
  const float* in = ((const tensor*)args[0].p)->data;
  const float* parameter = ((const tensor*)args[1].p)->data;
  float* out = ((const tensor*)args[2].p)->data;
  out[0] = in[0] + parameter[0];
  return 0;
}

int (*__TVMBackendParallelLaunch)(int (*task)(int, void*, void*), void* closure, int tasks);

static int empty_task(int task, void* env, void* closure) {
  (void)task, (void)env, (void)closure;
  return 0;
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// Runs empty parallel regions on all threads of the pool.
//
// args     [out]  pointer to the nanoseconds of each region (int64_t)
//          [in]   their count
int regions(value* args, int* codes, int count, value* result, int* result_code, void* resource) {
  (void)codes, (void)count, (void)result, (void)result_code, (void)resource;
  int64_t* times = args[0].p;
  for (int64_t i = 0; i < args[1].i; ++i) {
    const int64_t start = nanoseconds();
    if (__TVMBackendParallelLaunch(empty_task, 0, 0) != 0) return -1;
    times[i] = nanoseconds() - start;
  }
  return 0;
}

// The bare loop. It is a packed function itself, so that the kernels it calls find the runtime's
// pool.
//
// args     [in]   pointer to operators, their count
typedef struct {
  packed call;
  value* args;
  int* codes;
  int count;
} operator_call;

int call_all(value* args, int* codes, int count, value* result, int* result_code, void* resource) {
  (void)codes, (void)count, (void)result, (void)result_code, (void)resource;
  const operator_call* calls = args[0].p;
  for (int64_t i = 0; i < args[1].i; ++i) {
    value returned;
    int returned_code;
    const operator_call* c = &calls[i];
    if (c->call(c->args, c->codes, c->count, &returned, &returned_code, 0) != 0) return -1;
  }
  return 0;
}
