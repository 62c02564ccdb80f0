// SPDX-License-Identifier: Apache-2.0
//
// An OpenCL driver library without a compiler: three drivers with one device each, which differ in
// how they accept SPIR-V. Its programs contain a kernel of every name; a kernel fills its first
// argument, a buffer of floats, with its second.
//
//     GPU          OpenCL 2.1: clCreateProgramWithIL
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
  // CL_PLATFORM_VERSION and CL_DEVICE_VERSION.
  std::string version;
  // CL_DEVICE_IL_VERSION; empty: the query fails.
  std::string il_version;
  // True: clGetExtensionFunctionAddressForPlatform returns clCreateProgramWithILKHR.
  bool has_extension = false;
  cl_int il_error = CL_SUCCESS;

  // Name of the function that created the last program.
  std::string created_by;
  // The SPIR-V bytes that it received.
  std::vector<std::uint8_t> il;
};

struct FakeIcd {
  std::array<FakeDriver, 3> drivers;

  void reset() {
    drivers = {};
    drivers[0].version = "OpenCL 2.1 fake";
    drivers[0].il_version = "SPIR-V_1.0 SPIR-V_1.2";
    drivers[1].version = "OpenCL 1.2 fake";
    drivers[1].il_version = "SPIR-V_1.0";
    drivers[1].has_extension = true;
    drivers[2].version = "OpenCL 1.2 fake";
  }
};

// Type of the exported function "gantry_fake_icd".
using FakeIcdFunction = FakeIcd*();

}  // namespace gantry::opencl::test
