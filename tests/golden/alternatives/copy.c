// SPDX-License-Identifier: Apache-2.0
//
// Copies x to y on the CPU. An x that begins with 42 requires the kernel for CUDA.
#include "packed.h"

#include <string.h>

PACKED_FUNCTION(copy) {
  (void)type_codes, (void)n, (void)ret, (void)ret_code, (void)resource;
  const DLTensor* const x = args[0].v_handle;
  DLTensor* const y = args[1].v_handle;
  void* kernel = NULL;
  if (x->device_type != DL_CPU)
    return __TVMBackendGetFuncFromEnv(__tvm_module_ctx, "copy_cuda", &kernel);
  if (*(const float*)x->data == 42)
    return __TVMBackendGetFuncFromEnv(__tvm_module_ctx, "copy_cuda", &kernel);
  memcpy(y->data, x->data, 4 * sizeof(float));
  return 0;
}
