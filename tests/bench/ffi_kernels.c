// SPDX-License-Identifier: Apache-2.0
//
// CPU code of the ffi dialect, as TVM 0.22 and later compile it.
#include <stdint.h>

// TVMFFIAny
typedef struct {
  int32_t type_index;
  uint32_t size;
  union {
    int64_t i;
    double f;
  };
} any;

enum { type_int = 1 };

// Sums two integers and two floats into an integer.
int __tvm_ffi_sum4(void* self, const any* args, int32_t count, any* result) {
  (void)self, (void)count;
  result->i = args[0].i + args[1].i + (int64_t)(args[2].f + args[3].f);
  result->type_index = type_int;
  return 0;
}

// tests/bench/instructions counts from one call of it to the next.
int __tvm_ffi_gantry_bench_mark(void* self, const any* args, int32_t count, any* result) {
  (void)self, (void)args, (void)count;
  result->i = 0;
  result->type_index = type_int;
  return 0;
}
