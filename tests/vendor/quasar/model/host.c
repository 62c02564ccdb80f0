// SPDX-License-Identifier: Apache-2.0
//
// The CPU code of the operators, as a compiler's exporter writes it: one computes on the CPU, the others launch
// kernels. It has the number of ext_dev, 12, which the runtime translates to the one that it assigned.
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

enum { CODE_INT = 0, CODE_HANDLE = 3, CPU = 1, EXT_DEV = 12, MAX_TENSORS = 3, MAX_NUMBERS = 3 };

// Functions of the runtime, which sets these pointers.
int (*__TVMFuncCall)(void*, TVMValue*, int*, int, TVMValue*, int*);
void (*__TVMAPISetLastError)(const char*);
int (*__TVMBackendGetFuncFromEnv)(void*, const char*, void**);
void* __tvm_module_ctx;

static int fail(const char* text) {
  __TVMAPISetLastError(text);
  return -1;
}

static int call_by_name(const char* name, TVMValue* args, int* codes, int count) {
  void* function = NULL;
  TVMValue result = {0};
  int result_code = 0;
  if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, name, &function) != 0) return -1;
  return __TVMFuncCall(function, args, codes, count, &result, &result_code);
}

// The kernel's addresses, extents and grid.
static int launch(const char* kernel, TVMValue* tensors, int tensor_count, const int64_t* extents,
                  int extent_count) {
  TVMValue args[MAX_TENSORS + MAX_NUMBERS], device[2] = {{.v_int = EXT_DEV}, {.v_int = 0}};
  int codes[MAX_TENSORS + MAX_NUMBERS], device_codes[2] = {CODE_INT, CODE_INT}, count = 0;
  for (int i = 0; i < tensor_count; ++i) {
    const DLTensor* tensor = tensors[i].v_handle;
    if (tensor->device_type != EXT_DEV)
      return fail("an argument is not on device type 12, ext_dev");
    device[1].v_int = tensor->device_id;
    args[count].v_handle = (char*)tensor->data + tensor->byte_offset;
    codes[count++] = CODE_HANDLE;
  }
  for (int i = 0; i < extent_count; ++i) {
    args[count].v_int = extents[i];
    codes[count++] = CODE_INT;
  }
  args[count].v_int = 1;
  codes[count++] = CODE_INT;
  if (call_by_name("__tvm_set_device", device, device_codes, 2) != 0) return -1;
  return call_by_name(kernel, args, codes, count);
}

static float* floats(const DLTensor* tensor) {
  return (float*)((char*)tensor->data + tensor->byte_offset);
}

#define OPERATOR(name, tensor_count)                                                          \
  int32_t name(TVMValue* args, int* codes, int32_t count, TVMValue* result, int* result_code, \
               void* handle) {                                                                \
    (void)codes, (void)result, (void)result_code, (void)handle;                               \
    if (count != (tensor_count)) return fail(#name ": expected " #tensor_count " tensors");   \
    return name##_of(args);                                                                   \
  }

// bias(x, b, y): y = x + b, on the CPU
static int bias_of(TVMValue* args) {
  const DLTensor *x = args[0].v_handle, *b = args[1].v_handle, *y = args[2].v_handle;
  if (x->device_type != CPU || b->device_type != CPU || y->device_type != CPU)
    return fail("bias: a tensor is not on the CPU");
  for (int64_t i = 0; i < x->shape[0]; ++i) floats(y)[i] = floats(x)[i] + floats(b)[i];
  return 0;
}
OPERATOR(bias, 3)

// matvec(w, x, y): y = w x
static int matvec_of(TVMValue* args) {
  return launch("matvec_kernel", args, 3, ((DLTensor*)args[0].v_handle)->shape, 2);
}
OPERATOR(matvec, 3)

// relu(x, y): y = max(x, 0)
static int relu_of(TVMValue* args) {
  return launch("relu_kernel", args, 2, ((DLTensor*)args[0].v_handle)->shape, 1);
}
OPERATOR(relu, 2)

// half(x, y): y = x / 2
static int half_of(TVMValue* args) {
  return launch("half_kernel", args, 2, ((DLTensor*)args[0].v_handle)->shape, 1);
}
OPERATOR(half, 2)
