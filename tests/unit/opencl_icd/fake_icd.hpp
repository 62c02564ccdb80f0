// SPDX-License-Identifier: Apache-2.0
//
// An OpenCL driver library without a compiler: three drivers with one device each, which differ in
// how they accept SPIR-V. Its programs contain a kernel of every name; a kernel fills its first
// argument, a buffer of floats, with its second. A program has a binary after its first launch.
//
// A command runs when a call waits for it or for a later one, not before; a missing wait is visible
// in the results. Another queue runs it only if it is flushed, and commands that are not flushed
// are lost with their queue.
//
//     GPU          OpenCL 2.1: clCreateProgramWithIL; a test may report 3.0, to import descriptors
//     accelerator  OpenCL 1.2 and cl_khr_il_program; clCreateProgramWithIL is null
//     CPU          OpenCL 1.2, no SPIR-V
//
// The ICD loader opens the library; a test that opens the same file shares its state, see FakeIcd.
#pragma once

// Defines the OpenCL version before it includes <CL/cl.h>.
#include "plugins/opencl/driver.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gantry::opencl::test {

struct FakeDriver {
  // CL_PLATFORM_NAME and CL_PLATFORM_VERSION.
  std::string name = "fake";
  std::string version;
  // CL_DEVICE_TYPE; 0: that of the list above.
  cl_device_type type = 0;
  // CL_DEVICE_NAME, CL_DEVICE_VERSION and CL_DRIVER_VERSION.
  std::string device_name = "fake device";
  std::string device_version;
  std::string driver_version = "1";
  // CL_DEVICE_EXTENSIONS. The two extensions for the width of a warp answer 32 and 64.
  std::string extensions;
  cl_ulong max_bytes = cl_ulong{1} << 30;
  // CL_DEVICE_MAX_CLOCK_FREQUENCY and CL_DEVICE_GLOBAL_MEM_SIZE.
  cl_uint clock_mhz = 1500;
  cl_ulong memory_bytes = cl_ulong{5} << 30;
  // CL_DEVICE_IMAGE_PITCH_ALIGNMENT.
  cl_uint pitch_alignment = 0;
  // CL_DEVICE_IL_VERSION; empty: the query fails.
  std::string il_version;
  // True: clGetExtensionFunctionAddressForPlatform returns clCreateProgramWithILKHR.
  bool has_extension = false;
  cl_int il_error = CL_SUCCESS;
  // CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR; empty: the query fails.
  std::vector<cl_external_memory_handle_type_khr> import_kinds;
  // True: clGetExtensionFunctionAddressForPlatform returns the functions of cl_khr_external_memory.
  bool has_external_memory = false;
  // The result of clCreateBufferWithProperties.
  cl_int import_error = CL_SUCCESS;

  // Name of the function that created the last program.
  std::string created_by;
  // Properties of the last imported buffer, up to the 0 that ends them. Their descriptor is that of a
  // memfd, which is closed with the buffer.
  std::vector<cl_mem_properties> import_properties;
  // Imported buffers that are acquired.
  int acquired = 0;
  // The SPIR-V bytes that it received.
  std::vector<std::uint8_t> il;
};

struct FakeIcd {
  std::array<FakeDriver, 3> drivers;
  // Commands that have not run.
  int pending = 0;
  // Contexts and queues that are not released.
  int live = 0;
  // The result of every call that enqueues a command; the command is dropped on failure.
  cl_int enqueue_error = CL_SUCCESS;
  // The results of clCreateContext and clCreateCommandQueue.
  cl_int context_error = CL_SUCCESS;
  cl_int queue_error = CL_SUCCESS;

  void reset() {
    drivers = {};
    enqueue_error = context_error = queue_error = CL_SUCCESS;
    drivers[0].version = "OpenCL 2.1 fake";
    drivers[0].il_version = "SPIR-V_1.0 SPIR-V_1.2";
    drivers[1].version = "OpenCL 1.2 fake";
    drivers[1].il_version = "SPIR-V_1.0";
    drivers[1].has_extension = true;
    drivers[2].version = "OpenCL 1.2 fake";
    for (FakeDriver& driver : drivers) driver.device_version = driver.version;
  }
};

// Type of the exported function "gantry_fake_icd".
using FakeIcdFunction = FakeIcd*();

}  // namespace gantry::opencl::test
