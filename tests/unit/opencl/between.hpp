// SPDX-License-Identifier: Apache-2.0
//
// Functions of the driver that this program defines itself, between the plugin and the ICD loader: they count, and
// they answer as drivers do that are not there. All others go to the driver as they are.
#pragma once

#include "plugins/opencl/driver.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gantry::opencl::test {

struct Between {
  // clCreateProgramWithSource
  int source_programs = 0;
  // clCreateProgramWithBinary
  int binary_programs = 0;
  // clCreateContext
  int contexts = 0;
  // clSetKernelArg
  int arguments_set = 0;
  bool no_platform = false;
  // of clCreateBuffer
  cl_int buffer_error = CL_SUCCESS;
  // A device that takes SPIR-V: what it says, what it was given, and the text that is built in its place.
  std::string il_version;
  std::vector<std::uint32_t> il_words;
  std::string il_source;
};
extern Between between;

}  // namespace gantry::opencl::test
