// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <stdarg.h>
#include <stdio.h>

int refuse(const char* format, ...) {
  char text[256];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (__TVMAPISetLastError) __TVMAPISetLastError(text);
  return -1;
}

// The stride of an axis of extent 1 is never used, so any value is accepted.
static int is_compact(const DLTensor* tensor) {
  int64_t stride = 1;
  if (!tensor->strides) return 1;
  for (int axis = tensor->ndim - 1; axis >= 0; --axis) {
    if (tensor->shape[axis] != 1 && tensor->strides[axis] != stride) return 0;
    stride *= tensor->shape[axis];
  }
  return 1;
}

static int read_device(const char* function, int index, const DLTensor* tensor, device* where) {
  if (index == 0) {
    where->type = tensor->device_type;
    where->index = tensor->device_id;
    if (where->type == DL_CPU || where->type == DL_CUDA || where->type == DL_OPENCL ||
        where->type == DL_VULKAN) {
      return 0;
    }
    return refuse(
        "%s: argument 0 is on device type %d, known are %d (cpu), %d (cuda), %d (opencl), "
        "%d (vulkan)",
        function, where->type, DL_CPU, DL_CUDA, DL_OPENCL, DL_VULKAN);
  }
  if (tensor->device_type == where->type && tensor->device_id == where->index) return 0;
  return refuse("%s: argument %d is on device %d:%d, argument 0 on %d:%d", function, index,
                tensor->device_type, tensor->device_id, where->type, where->index);
}

static int read_matrix(const char* function, int index, const DLTensor* tensor, int ndim,
                       matrix* out, device* where) {
  if (read_device(function, index, tensor, where) != 0) return -1;
  if (tensor->dtype_code != DL_FLOAT || tensor->dtype_bits != 32 || tensor->dtype_lanes != 1) {
    return refuse("%s: argument %d has dtype code %d, %d bits, %d lanes, expected float32",
                  function, index, tensor->dtype_code, tensor->dtype_bits, tensor->dtype_lanes);
  }
  if (tensor->ndim != ndim) {
    return refuse("%s: argument %d has %d dimensions, expected %d", function, index, tensor->ndim,
                  ndim);
  }
  if (!is_compact(tensor)) return refuse("%s: argument %d is not compact", function, index);
  out->rows = ndim == 2 ? tensor->shape[0] : 1;
  out->columns = tensor->shape[ndim - 1];
  if (!tensor->data && out->rows * out->columns != 0) {
    return refuse("%s: argument %d has no data", function, index);
  }
  if (where->type != DL_CPU && tensor->byte_offset != 0) {
    return refuse("%s: argument %d has byte offset %llu, a tensor on a device requires 0", function,
                  index, (unsigned long long)tensor->byte_offset);
  }
  out->at = (float*)((char*)tensor->data + tensor->byte_offset);
  return 0;
}

int read_matrices(const char* function, const TVMValue* args, const int* type_codes, int n,
                  int count, const int* ndim, matrix* out, device* where) {
  if (n != count) return refuse("%s: %d arguments, expected %d", function, n, count);
  for (int i = 0; i < count; ++i) {
    if (type_codes[i] != PACKED_TENSOR && type_codes[i] != PACKED_NDARRAY) {
      return refuse("%s: argument %d has type code %d, expected %d (tensor)", function, i,
                    type_codes[i], PACKED_TENSOR);
    }
    if (read_matrix(function, i, args[i].v_handle, ndim[i], &out[i], where) != 0) return -1;
  }
  return 0;
}
