// SPDX-License-Identifier: Apache-2.0
#include "between.hpp"

#include <dlfcn.h>

#include <cstring>

namespace gantry::opencl::test {
Between between;
namespace {

template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace gantry::opencl::test

using gantry::opencl::test::between;
using gantry::opencl::test::real;

extern "C" {

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformIDs(cl_uint size, cl_platform_id* platforms,
                                                 cl_uint* count) {
  if (between.no_platform) return -1001;
  return real(clGetPlatformIDs, "clGetPlatformIDs")(size, platforms, count);
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info what,
                                                size_t size, void* value, size_t* value_size) {
  if (what != CL_DEVICE_IL_VERSION || between.il_version.empty())
    return real(clGetDeviceInfo, "clGetDeviceInfo")(device, what, size, value, value_size);
  if (value_size != nullptr) *value_size = between.il_version.size() + 1;
  if (value != nullptr) std::memcpy(value, between.il_version.c_str(), size);
  return CL_SUCCESS;
}

CL_API_ENTRY cl_context CL_API_CALL clCreateContext(
    const cl_context_properties* properties, cl_uint count, const cl_device_id* devices,
    void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* data, cl_int* error) {
  ++between.contexts;
  return real(clCreateContext, "clCreateContext")(properties, count, devices, notify, data, error);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                               void* host, cl_int* error) {
  if (between.buffer_error != CL_SUCCESS) {
    *error = between.buffer_error;
    return nullptr;
  }
  return real(clCreateBuffer, "clCreateBuffer")(context, flags, size, host, error);
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelArg(cl_kernel kernel, cl_uint i, size_t size,
                                               const void* value) {
  ++between.arguments_set;
  return real(clSetKernelArg, "clSetKernelArg")(kernel, i, size, value);
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count,
                                                              const char** texts,
                                                              const size_t* sizes, cl_int* error) {
  ++between.source_programs;
  return real(clCreateProgramWithSource, "clCreateProgramWithSource")(context, count, texts, sizes,
                                                                      error);
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithBinary(cl_context context, cl_uint count,
                                                              const cl_device_id* devices,
                                                              const size_t* sizes,
                                                              const unsigned char** binaries,
                                                              cl_int* status, cl_int* error) {
  ++between.binary_programs;
  return real(clCreateProgramWithBinary, "clCreateProgramWithBinary")(
      context, count, devices, sizes, binaries, status, error);
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithIL(cl_context context, const void* words,
                                                          size_t size, cl_int* error) {
  between.il_words.resize(size / 4);
  std::memcpy(between.il_words.data(), words, size);
  const char* text = between.il_source.c_str();
  return real(clCreateProgramWithSource, "clCreateProgramWithSource")(context, 1, &text, nullptr,
                                                                      error);
}

}  // extern "C"
