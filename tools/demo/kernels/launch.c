// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <stdatomic.h>

enum { MAX_ARGUMENTS = 16 };

static int find(const char* name, _Atomic(void*)* found, void** function) {
  *function = atomic_load_explicit(found, memory_order_acquire);
  if (*function) return 0;
  if (!__TVMBackendGetFuncFromEnv || !__TVMFuncCall)
    return refuse("%s: the runtime provides no functions", name);
  if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, name, function) != 0) return -1;
  atomic_store_explicit(found, *function, memory_order_release);
  return 0;
}

static int call(void* function, TVMValue* args, int* type_codes, int n) {
  TVMValue ret = {0};
  int ret_code = PACKED_NULL;
  return __TVMFuncCall(function, args, type_codes, n, &ret, &ret_code);
}

// A kernel runs on the device of its kind that the calling thread has selected last.
static int set_device(device where) {
  static _Atomic(void*) found;
  void* function;
  if (find("__tvm_set_device", &found, &function) != 0) return -1;
  TVMValue args[2] = {{.v_int64 = where.type}, {.v_int64 = where.index}};
  int type_codes[2] = {PACKED_INT, PACKED_INT};
  return call(function, args, type_codes, 2);
}

int launch(kernel* which, device where, const matrix* matrices, int matrix_count,
           const int64_t* numbers, int number_count) {
  const int language = where.type == DL_CUDA ? CUDA : where.type == DL_VULKAN ? VULKAN : OPENCL;
  void* function;
  if (find(which->names[language], &which->functions[language], &function) != 0) return -1;
  if (set_device(where) != 0) return -1;

  TVMValue args[MAX_ARGUMENTS];
  int type_codes[MAX_ARGUMENTS];
  const int n = matrix_count + number_count;
  assert(n <= MAX_ARGUMENTS);
  for (int i = 0; i < n; ++i) {
    if (i < matrix_count) {
      args[i].v_handle = matrices[i].at;
      type_codes[i] = PACKED_HANDLE;
    } else {
      args[i].v_int64 = numbers[i - matrix_count];
      type_codes[i] = PACKED_INT;
    }
  }
  return call(function, args, type_codes, n);
}
