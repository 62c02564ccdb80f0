// SPDX-License-Identifier: Apache-2.0
//
// launch.h - starts a kernel on the device of the tensors.
#ifndef GANTRY_DEMO_LAUNCH_H
#define GANTRY_DEMO_LAUNCH_H

#include "arguments.h"

// of each work-group; equal to the constant in the kernels
enum { GROUP_THREADS = 32 };

// The languages of kernels.
enum { CUDA, OPENCL, VULKAN, LANGUAGES };

// One kernel in each language. It is looked up once: the runtime keeps the function as long as this
// file is loaded.
typedef struct kernel {
  // names in the device modules
  const char* names[LANGUAGES];
  // NULL: not looked up yet
  _Atomic(void*) functions[LANGUAGES];
} kernel;

// Enqueues a kernel in the device's stream and returns without waiting.
//
// where     [in]   a CUDA, OpenCL or Vulkan device
// matrices  [in]   buffer arguments of the kernel
// numbers   [in]   scalar arguments, then the extents of the launch, none of which is 0
// returns   0; -1 with the runtime's error: the kernel does not exist, for example because its
//           plugin is not installed, or the device does not exist
int launch(kernel* which, device where, const matrix* matrices, int matrix_count,
           const int64_t* numbers, int number_count);

#endif
