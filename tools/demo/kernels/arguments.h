// SPDX-License-Identifier: Apache-2.0
//
// arguments.h - converts packed arguments to float matrices.
#ifndef GANTRY_DEMO_ARGUMENTS_H
#define GANTRY_DEMO_ARGUMENTS_H

#include "packed.h"

typedef struct device {
  int32_t type;
  int32_t index;
} device;

// A row-major matrix of floats; a vector is a matrix of one row.
typedef struct matrix {
  // on a device: its handle of the memory, which the host cannot dereference
  float* at;
  int64_t rows;
  int64_t columns;
} matrix;

// Sets the runtime's last error, if the runtime provides the function.
//
// returns   -1, so that a kernel can return it
__attribute__((format(printf, 1, 2))) int refuse(const char* format, ...);

// Converts the arguments of one call.
//
// function  [in]   name of the function, for error texts
// count     [in]   expected number of arguments
// ndim      [in]   number of dimensions of each, 1 or 2
// out       [out]  count matrices
// where     [out]  the device that all of them are on
// returns   0; -1 if the count, a type code, device, dtype, rank or stride is another, if data are
//           missing, or if a tensor on a device has a byte offset, which kernels do not support
int read_matrices(const char* function, const TVMValue* args, const int* type_codes, int n,
                  int count, const int* ndim, matrix* out, device* where);

#endif
