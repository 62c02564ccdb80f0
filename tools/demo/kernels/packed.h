// SPDX-License-Identifier: Apache-2.0
//
// packed.h - the interface between CPU code of the packed dialect (TVM v0.7 to v0.20) and its
// runtime.
//
//     int f(TVMValue* args, int* type_codes, int n, TVMValue* ret, int* ret_code, void* resource)
//
// returns 0, or -1 after it has set the runtime's last error. No header or library of TVM is
// required: the runtime stores its functions in the variables at the end when it loads the file.
#ifndef GANTRY_DEMO_PACKED_H
#define GANTRY_DEMO_PACKED_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

// One argument; its type code selects the member.
typedef union TVMValue {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
  const char* v_str;
} TVMValue;

enum packed_code {
  PACKED_INT = 0,
  PACKED_FLOAT = 2,
  // memory of a device
  PACKED_HANDLE = 3,
  PACKED_NULL = 4,
  // DLTensor*
  PACKED_TENSOR = 7,
  // begins with a DLTensor
  PACKED_NDARRAY = 13
};

// device types
enum { DL_CPU = 1, DL_CUDA = 2, DL_OPENCL = 4, DL_VULKAN = 7 };
enum { DL_FLOAT = 2 };

typedef struct DLTensor {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t dtype_code;
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  int64_t* shape;
  // in elements; NULL: compact, row-major
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

static_assert(sizeof(TVMValue) == 8, "an argument is 8 bytes");
static_assert(sizeof(DLTensor) == 48, "DLPack's struct on a 64-bit host");
static_assert(offsetof(DLTensor, shape) == 24, "DLPack's struct on a 64-bit host");

typedef struct TVMParallelGroupEnv {
  void* sync_handle;
  int32_t num_task;
} TVMParallelGroupEnv;

typedef int (*packed_task)(int task_id, TVMParallelGroupEnv* group, void* closure);

#define PACKED_EXPORT __attribute__((visibility("default")))

// Defines a function with the signature that the runtime calls.
#define PACKED_FUNCTION(NAME)                                                                  \
  PACKED_EXPORT int NAME(TVMValue* args, int* type_codes, int n, TVMValue* ret, int* ret_code, \
                         void* resource)

// Context pointers: NULL until the runtime has opened the file. Weak, so that every source can
// define them and the file contains one of each. The names are part of the format.
PACKED_EXPORT __attribute__((weak)) void (*__TVMAPISetLastError)(const char* text);
PACKED_EXPORT
__attribute__((weak)) int (*__TVMBackendParallelLaunch)(packed_task task, void* closure,
                                                        int task_count);
PACKED_EXPORT
__attribute__((weak)) int (*__TVMBackendGetFuncFromEnv)(void* context, const char* name,
                                                        void** function);
PACKED_EXPORT
__attribute__((weak)) int (*__TVMFuncCall)(void* function, TVMValue* args, int* type_codes, int n,
                                           TVMValue* ret, int* ret_code);
// identifies this file in look-ups
PACKED_EXPORT __attribute__((weak)) void* __tvm_module_ctx;

#endif
