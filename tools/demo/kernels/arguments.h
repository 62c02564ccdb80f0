// SPDX-License-Identifier: Apache-2.0
//
// arguments.h - from packed arguments to float matrices, each refusal with a text.
#ifndef GANTRY_DEMO_ARGUMENTS_H
#define GANTRY_DEMO_ARGUMENTS_H

#include "packed.h"

typedef struct device {
  int32_t type;
  int32_t index;
} device;

// A row-major matrix of floats; a vector is one row.
typedef struct matrix {
  // on a device: what it calls the memory, not to be looked into
  float* at;
  int64_t rows;
  int64_t columns;
} matrix;

// Puts a text into the last-error slot, where there is one.  Returns -1, so that a kernel can return it.
__attribute__((format(printf, 1, 2))) int refuse(const char* format, ...);

// function  [in]   whose arguments these are, for the text
// count     [in]   how many it wants
// ndim      [in]   dimensions of each, 1 or 2
// out       [out]  count matrices
// where     [out]  the device that all of them are on
// returns   0; -1 where the count, a type code, device, dtype, rank or stride is another, data are missing, or begin
//           inside a device's memory, which cannot be told to its kernels
int read_matrices(const char* function, const TVMValue* args, const int* type_codes, int n,
                  int count, const int* ndim, matrix* out, device* where);

#endif
