// SPDX-License-Identifier: Apache-2.0
//
// CPU code as TVM v0.8 wrote it with --link-params: parameters are constants of the library, and a
// function returns their addresses by storage id.
//
// source   apache/tvm v0.8.0 src/target/source/codegen_c_host.cc
#include <stdint.h>

typedef union {
  int64_t i;
  double f;
  void* p;
} value;
typedef struct {
  void* data;
  // DLTensor's first member
} tensor;

enum { code_handle = 3, code_null = 4 };

// The first is aligned as kernels require, the second is not.
static const float scale[4] __attribute__((aligned(128))) = {10, 20, 30, 40};
static const struct {
  float before;
  float values[4];
} offset __attribute__((aligned(128))) = {0, {1, 2, 3, 4}};

int32_t _lookup_linked_param(value* args, int* codes, int count, value* result, int* result_code,
                             void* resource) {
  (void)codes, (void)count, (void)resource;
  const float* found = args[0].i == 1 ? scale : args[0].i == 2 ? offset.values : 0;
  result->p = (void*)found;
  *result_code = found != 0 ? code_handle : code_null;
  return 0;
}

// y = x * scale + offset
int32_t multiply_add(value* args, int* codes, int count, value* result, int* result_code,
                     void* resource) {
  (void)codes, (void)count, (void)result, (void)result_code, (void)resource;
  const float* x = ((const tensor*)args[0].p)->data;
  const float* by = ((const tensor*)args[1].p)->data;
  const float* plus = ((const tensor*)args[2].p)->data;
  float* y = ((const tensor*)args[3].p)->data;
  for (int i = 0; i < 4; ++i) y[i] = x[i] * by[i] + plus[i];
  return 0;
}
