// SPDX-License-Identifier: Apache-2.0
//
// The values of compiled CPU code, with the layouts that its compilers use.
#pragma once

#include <stdint.h>

// Of the packed dialect; its type code is separate.
typedef union {
  int64_t i;
  double f;
  void* p;
  const char* s;
} PackedValue;

typedef struct {
  int32_t kind;
  uint32_t small_size;
  union {
    int64_t i;
    double f;
    void* p;
    const char* s;
    int32_t device[2];
    char small[8];
  };
} FfiValue;

typedef struct {
  void* data;
  int32_t device_type, device_index, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Tensor;

typedef struct {
  const char* data;
  uint64_t size;
} Bytes;

// The second argument of a parallel task.
typedef struct {
  void* sync;
  int32_t tasks;
} Env;
