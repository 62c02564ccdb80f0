// SPDX-License-Identifier: Apache-2.0
//
// The C types between compiled CPU code and its runtime in the packed dialect (TVM 0.2 to 0.20).
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

// Type codes of arguments and results. Up to v0.17, 15 is the first extension code, which CPU code
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

}  // namespace gantry
