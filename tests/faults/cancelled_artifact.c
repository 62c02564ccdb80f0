// SPDX-License-Identifier: Apache-2.0
//
// CPU code that waits at cancellation points: in a function, in a task of a parallel region, and,
// if GANTRY_TEST_WAIT is set, for a moment in its constructor.
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

typedef int (*Task)(int, void*, void*);
int (*__TVMBackendParallelLaunch)(Task, void*, int);
const char __tvm_main__[] = "one";

static void __attribute__((constructor)) begin(void) {
  if (getenv("GANTRY_TEST_WAIT")) usleep(60 * 1000);
}

int one(void* args, int* codes, int count, int64_t* result, int* result_code) {
  (void)args, (void)codes, (void)count;
  *result = 1;
  *result_code = 0;
  return 0;
}

int wait(void* args, int* codes, int count, int64_t* result, int* result_code) {
  for (;;) usleep(1000);
  return one(args, codes, count, result, result_code);
}

// Task 0 runs on the thread of the caller.
static int wait_in_first(int task, void* env, void* data) {
  (void)env, (void)data;
  while (task == 0) usleep(1000);
  return 0;
}
static int nothing(int task, void* env, void* data) {
  (void)task, (void)env, (void)data;
  return 0;
}

int wait_in_region(void* args, int* codes, int count, int64_t* result, int* result_code) {
  __TVMBackendParallelLaunch(wait_in_first, 0, 2);
  return one(args, codes, count, result, result_code);
}

int region(void* args, int* codes, int count, int64_t* result, int* result_code) {
  __TVMBackendParallelLaunch(nothing, 0, 2);
  return one(args, codes, count, result, result_code);
}
