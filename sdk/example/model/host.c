// SPDX-License-Identifier: Apache-2.0
//
// The CPU code of the kernels, as a compiler's exporter writes it: checks the arguments, sets the
// device, and calls the kernel with its parameters and its extents. For compilers an accelerator
// without a number of its own is ext_dev, 12; this code does not contain the number that the runtime
// assigned.
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

enum { CODE_INT = 0, CODE_HANDLE = 3, CODE_TENSOR = 7, CODE_NDARRAY = 13, EXT_DEV = 12 };
enum { BLOCK = 64 };

// Functions of the runtime, which sets these pointers.
int (*__TVMFuncCall)(void*, TVMValue*, int*, int, TVMValue*, int*);
void (*__TVMAPISetLastError)(const char*);
int (*__TVMBackendGetFuncFromEnv)(void*, const char*, void**);
void* __tvm_module_ctx;

static int fail(const char* text) {
  __TVMAPISetLastError(text);
  return -1;
}

// Vectors of floats, of one length, on one accelerator.
static int read_vectors(const TVMValue* args, const int* codes, int count, DLTensor** out) {
  for (int i = 0; i < count; ++i) {
    if (codes[i] != CODE_TENSOR && codes[i] != CODE_NDARRAY)
      return fail("an argument is not a tensor");
    out[i] = args[i].v_handle;
    if (out[i]->device_type != EXT_DEV)
      return fail("an argument is not on device type 12, ext_dev");
    if (out[i]->device_id != out[0]->device_id) return fail("arguments are on different devices");
    if (out[i]->code != 2 || out[i]->bits != 32 || out[i]->lanes != 1)
      return fail("an argument is not float32");
    if (out[i]->ndim != 1 || out[i]->strides) return fail("an argument is not a dense vector");
    if (out[i]->shape[0] != out[0]->shape[0]) return fail("arguments are not equally long");
    if (out[i]->byte_offset) return fail("an argument begins within its memory");
  }
  return 0;
}

static int call_by_name(const char* name, TVMValue* args, int* codes, int count) {
  void* function = NULL;
  TVMValue result = {0};
  int result_code = 0;
  if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, name, &function) != 0) return -1;
  return __TVMFuncCall(function, args, codes, count, &result, &result_code);
}

// A kernel with `count` vectors and their length as parameters, in blocks of BLOCK items.
static int launch(const char* kernel, DLTensor** vectors, int count) {
  const int64_t n = vectors[0]->shape[0];
  TVMValue device[2] = {{.v_int = EXT_DEV}, {.v_int = vectors[0]->device_id}};
  int device_codes[2] = {CODE_INT, CODE_INT};
  if (call_by_name("__tvm_set_device", device, device_codes, 2) != 0) return -1;

  TVMValue args[8];
  int codes[8];
  for (int i = 0; i < count; ++i) {
    // A pointer that the device's alloc returned, passed on unchanged.
    args[i].v_handle = vectors[i]->data;
    codes[i] = CODE_HANDLE;
  }
  const int64_t numbers[3] = {n, (n + BLOCK - 1) / BLOCK, BLOCK};
  for (int i = 0; i < 3; ++i) {
    args[count + i].v_int = numbers[i];
    codes[count + i] = CODE_INT;
  }
  return call_by_name(kernel, args, codes, count + 3);
}

// axpy2(a, b, c): c = a + 2 * b
int32_t axpy2(TVMValue* args, int* codes, int32_t count, TVMValue* result, int* result_code,
              void* handle) {
  DLTensor* vectors[3];
  (void)result, (void)result_code, (void)handle;
  if (count != 3) return fail("axpy2 requires 3 arguments");
  return read_vectors(args, codes, 3, vectors) != 0 ? -1 : launch("axpy2_kernel", vectors, 3);
}

// relu(x, y): y = max(x, 0)
int32_t relu(TVMValue* args, int* codes, int32_t count, TVMValue* result, int* result_code,
             void* handle) {
  DLTensor* vectors[2];
  (void)result, (void)result_code, (void)handle;
  if (count != 2) return fail("relu requires 2 arguments");
  return read_vectors(args, codes, 2, vectors) != 0 ? -1 : launch("relu_kernel", vectors, 2);
}
