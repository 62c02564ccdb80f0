// SPDX-License-Identifier: Apache-2.0
//
// The CPU code of the graphs, as a compiler's exporter writes it, and a function that calls one of
// the plugin. A graph passes tensors of the types in the recipe.
#include <stddef.h>
#include <stdint.h>

typedef union {
  int64_t v_int;
  double v_float;
  void* v_handle;
} TVMValue;

typedef struct {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

// Functions of the runtime, which sets these pointers.
int (*__TVMFuncCall)(void*, TVMValue*, int*, int, TVMValue*, int*);
void (*__TVMAPISetLastError)(const char*);
int (*__TVMBackendGetFuncFromEnv)(void*, const char*, void**);
void* __tvm_module_ctx;

static int fail(const char* text) {
  __TVMAPISetLastError(text);
  return -1;
}

static float* floats_of(const DLTensor* tensor) {
  return (float*)((char*)tensor->data + tensor->byte_offset);
}

// times_two(x, y): y = 2 x
int32_t times_two(TVMValue* args, int* codes, int32_t count, TVMValue* result, int* result_code,
                  void* handle) {
  (void)codes, (void)result, (void)result_code, (void)handle;
  if (count != 2) return fail("times_two requires 2 arguments");
  const DLTensor* x = args[0].v_handle;
  for (int64_t i = 0; i < x->shape[0]; ++i) floats_of(args[1].v_handle)[i] = 2 * floats_of(x)[i];
  return 0;
}

// times_itself(x, y): y = x * x
int32_t times_itself(TVMValue* args, int* codes, int32_t count, TVMValue* result, int* result_code,
                     void* handle) {
  (void)codes, (void)result, (void)result_code, (void)handle;
  if (count != 2) return fail("times_itself requires 2 arguments");
  const DLTensor* x = args[0].v_handle;
  for (int64_t i = 0; i < x->shape[0]; ++i)
    floats_of(args[1].v_handle)[i] = floats_of(x)[i] * floats_of(x)[i];
  return 0;
}

// mean_of(a, b, out): out = (a + b) / 2, by the plugin
int32_t mean_of(TVMValue* args, int* codes, int32_t count, TVMValue* result, int* result_code,
                void* handle) {
  void* function = NULL;
  (void)handle;
  if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, "example.ensemble.mean", &function) != 0)
    return -1;
  return __TVMFuncCall(function, args, codes, count, result, result_code);
}
