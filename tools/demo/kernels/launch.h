// SPDX-License-Identifier: Apache-2.0
//
// launch.h - from a function of the host code to a kernel of the device that its tensors are on.
#ifndef GANTRY_DEMO_LAUNCH_H
#define GANTRY_DEMO_LAUNCH_H

#include "arguments.h"

// of each work-group; the kernels say the same
enum { GROUP_THREADS = 32 };

// One kernel in each language. Looked up once, for which the runtime keeps it as long as this file is loaded.
typedef struct kernel {
  // its name in the device module
  const char* opencl;
  const char* vulkan;
  // NULL: not looked up yet
  _Atomic(void*) opencl_function;
  _Atomic(void*) vulkan_function;
} kernel;

// Starts a kernel; the device's stream has the order, nobody waits.
//
// where     [in]   OpenCL or Vulkan
// matrices  [in]   its buffers
// numbers   [in]   its scalars, then the extents of the launch, none of them 0
// returns   0; -1 with the runtime's text: no such kernel, as where its plugin is not installed, or no such device
int launch(kernel* which, device where, const matrix* matrices, int matrix_count,
           const int64_t* numbers, int number_count);

#endif
