// SPDX-License-Identifier: Apache-2.0
//
// Driver functions that the test program defines, which intercept the plugin's calls of the ICD
// loader. They count calls and simulate other drivers; all other calls reach the driver unchanged.
#pragma once

#include "plugins/opencl/driver.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gantry::opencl::test {

struct Between {
  // Calls of clCreateProgramWithSource.
  int source_programs = 0;
  // Calls of clCreateProgramWithBinary.
  int binary_programs = 0;
  // Calls of clCreateContext.
  int contexts = 0;
  // Calls of clSetKernelArg.
  int arguments_set = 0;
  bool no_platform = false;
  // The result of clCreateBuffer.
  cl_int buffer_error = CL_SUCCESS;
  // Simulates a device that accepts SPIR-V: the versions that it reports, the words that it
  // received, and the source that is built instead of them.
  std::string il_version;
  std::vector<std::uint32_t> il_words;
  std::string il_source;
};
extern Between between;

}  // namespace gantry::opencl::test
