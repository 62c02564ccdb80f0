// SPDX-License-Identifier: Apache-2.0
//
// Declarations for C sources that TVM's C code generators write. Each of the headers that they
// include, link_cache.cpp lists them, is this file.
//
//     packed dialect   TVMValue, TVMFuncCall, ...        (TVM up to 0.20)
//     ffi dialect      TVMFFIAny, TVMFFIFunctionCall, ... (TVM 0.21 and later)
//
// source   apache/tvm include/tvm/runtime/c_runtime_api.h, c_backend_api.h; apache/tvm-ffi
//          include/tvm/ffi/c_api.h, extra/c_env_api.h; dmlc/dlpack include/dlpack/dlpack.h: names
//          and layouts
#ifndef GANTRY_GENERATED_CODE_H
#define GANTRY_GENERATED_CODE_H

#include <stddef.h>
#include <stdint.h>

#define TVM_DLL __attribute__((visibility("default")))
#define TVM_FFI_DLL TVM_DLL
#define TVM_FFI_DLL_EXPORT TVM_DLL

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void* data;
  // "ctx" in sources of TVM 0.7 and older
  union {
    DLDevice device;
    DLDevice ctx;
  };
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

typedef DLDevice TVMContext;
typedef DLDevice Device;
typedef DLDataType TVMType;
typedef DLTensor TVMArray;
typedef int64_t tvm_index_t;

typedef union {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
  const char* v_str;
  DLDataType v_type;
  DLDevice v_ctx;
  DLDevice v_device;
} TVMValue;

typedef struct {
  int32_t type_index;
  union {
    uint32_t zero_padding;
    uint32_t small_str_len;
  };
  union {
    int64_t v_int64;
    double v_float64;
    void* v_ptr;
    void* v_obj;
    const char* v_c_str;
    DLDataType v_dtype;
    DLDevice v_device;
    char v_bytes[8];
    uint64_t v_uint64;
  };
} TVMFFIAny;

typedef struct {
  const char* data;
  size_t size;
} TVMFFIByteArray;

enum {
  kTVMFFIAny = -1,
  kTVMFFINone = 0,
  kTVMFFIInt = 1,
  kTVMFFIBool = 2,
  kTVMFFIFloat = 3,
  kTVMFFIOpaquePtr = 4,
  kTVMFFIDataType = 5,
  kTVMFFIDevice = 6,
  kTVMFFIDLTensorPtr = 7,
  kTVMFFIRawStr = 8,
  kTVMFFIByteArrayPtr = 9
};

typedef struct {
  void* sync_handle;
  int32_t num_task;
} TVMParallelGroupEnv;

typedef int (*FTVMParallelLambda)(int task, TVMParallelGroupEnv* group, void* data);
typedef int (*TVMBackendPackedCFunc)(TVMValue* args, int* codes, int count, TVMValue* result,
                                     int* result_code, void* resource);

int TVMFuncCall(void* function, TVMValue* args, int* codes, int count, TVMValue* result,
                int* result_code);
void TVMAPISetLastError(const char* text);

int TVMFFIFunctionCall(void* function, TVMFFIAny* args, int32_t count, TVMFFIAny* result);
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* text);
void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** parts, int32_t count);
int TVMFFIEnvModLookupFromImports(void* context, const char* name, void** function);
int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol);
int TVMFFIHandleInitOnce(void** slot, int (*init)(void** result));
void* TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);

int TVMBackendGetFuncFromEnv(void* context, const char* name, void** function);
int TVMBackendRegisterSystemLibSymbol(const char* name, void* symbol);
void* TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t bytes, int code, int bits);
int TVMBackendFreeWorkspace(int device_type, int device_id, void* data);
int TVMBackendParallelLaunch(FTVMParallelLambda task, void* data, int count);
int TVMBackendParallelBarrier(int task, TVMParallelGroupEnv* group);
int TVMBackendRunOnce(void** slot, int (*task)(void*), void* data, int bytes);

#ifdef __cplusplus
}
#endif

#endif  // GANTRY_GENERATED_CODE_H
