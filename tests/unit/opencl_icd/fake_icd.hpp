// SPDX-License-Identifier: Apache-2.0
//
// An OpenCL driver library without a compiler: three drivers of one device each, which differ in how they take SPIR-V. A
// program made of it has every kernel that is asked for; each fills its first argument, a buffer of floats, with its second.
//
//     GPU          OpenCL 2.1: clCreateProgramWithIL
//     accelerator  OpenCL 1.2 and cl_khr_il_program; what lies behind its table of functions is no function
//     CPU          OpenCL 1.2, no SPIR-V
//
// The ICD loader opens it; a test that opens the same file gets the same fake_icd().
#pragma once

#include "plugins/opencl/driver.hpp"  // which OpenCL is meant

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gantry::opencl::test {

struct FakeDriver {
  // of platform and device
  std::string version;
  // what the device answers; empty: it knows no such question
  std::string il_version;
  // gives the address of clCreateProgramWithILKHR
  bool has_extension = false;
  cl_int il_error = CL_SUCCESS;

  // the function that was called
  std::string created_by;
  // what it was given
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

// "gantry_fake_icd"
using FakeIcdFunction = FakeIcd*();

}  // namespace gantry::opencl::test
