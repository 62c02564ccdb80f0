// SPDX-License-Identifier: Apache-2.0
//
// The C types between compiled host code and its runtime in the packed dialect (TVM 0.2 to 0.20),
// and the functions that such code calls. Shared with libgantry_tvm.so, so nothing here depends on
// the core.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>

namespace gantry {

// TVMValue: 8 bytes, interpreted according to a separate type code.
union PackedValue {
  std::int64_t i;
  double f;
  void* p;
  const char* s;
  gantry_dtype dtype;
  gantry_device_id device;
};
static_assert(sizeof(PackedValue) == 8);

// Type codes of arguments and results. Up to v0.17, 15 is the first extension code, which host code
// never uses.
enum PackedCode : int {
  kPackedInt = 0,
  kPackedUint = 1,
  kPackedFloat = 2,
  kPackedHandle = 3,
  kPackedNull = 4,
  kPackedDtype = 5,
  kPackedDevice = 6,
  kPackedTensor = 7,
  kPackedObject = 8,
  kPackedModule = 9,
  kPackedFunction = 10,
  kPackedString = 11,
  kPackedBytes = 12,
  kPackedNdArray = 13,
  kPackedObjectRef = 14,
  kPackedBool = 15,
};

// A packed function. Early releases emit it with three or five parameters. Passing all six is
// correct on System V x86-64 and AAPCS64, where a callee ignores additional arguments.
using PackedCall = int (*)(PackedValue* args, int* codes, int count, PackedValue* result,
                           int* result_code, void* resource);

// TVMParallelGroupEnv
struct ParallelEnv {
  void* sync_handle;
  std::int32_t num_task;
};
using ParallelTask = int (*)(int task, ParallelEnv* env, void* closure);

// The functions for host code, which it finds through its variables `__TVM...` or as symbols of
// libgantry_tvm.so.
struct TvmFunctions {
  std::uint32_t struct_size;
  std::uint32_t zero;
  int (*func_call)(void* function, PackedValue* args, int* codes, int count, PackedValue* result,
                   int* result_code);
  void (*set_last_error)(const char* text);
  int (*get_func_from_env)(void* context, const char* name, void** function);
  void* (*alloc_workspace)(int device_type, int device_index, std::uint64_t bytes, int code_hint,
                           int bits_hint);
  int (*free_workspace)(int device_type, int device_index, void* data);
  int (*parallel_launch)(ParallelTask task, void* closure, int task_count);
  int (*parallel_barrier)(int task, ParallelEnv* env);
};

// The name under which libgantry_tvm.so exports its `TvmFunctions` slot, which is zero until the
// core fills it.
constexpr char kTvmFunctionsSymbol[] = "gantry_tvm_functions";

}  // namespace gantry
