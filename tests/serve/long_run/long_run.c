// SPDX-License-Identifier: Apache-2.0
//
// long_run(x, out): out = x, after two seconds of computing. A packed function as TVM 0.12 calls it.
#include <stdint.h>
#include <string.h>
#include <time.h>

// The first member of a DLTensor.
typedef struct tensor {
  float* data;
} tensor;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

__attribute__((visibility("default"))) int32_t long_run(tensor* const* args,
                                                        const int32_t* type_codes, int32_t count,
                                                        void* ret, int32_t* ret_code,
                                                        void* resource) {
  (void)type_codes, (void)count, (void)ret, (void)ret_code, (void)resource;
  const double end = now() + 2.0;
  while (now() < end) continue;
  memcpy(args[1]->data, args[0]->data, 64 * sizeof(float));
  return 0;
}
