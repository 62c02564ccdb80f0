// SPDX-License-Identifier: Apache-2.0
//
// Explains why this host has no OpenCL device.
#pragma once

#include <gantry/result.hpp>

#include <span>
#include <string>

namespace gantry::opencl {

// A driver that starts and has no device.
struct EmptyPlatform {
  // CL_PLATFORM_NAME
  std::string name;
  // the result of clGetDeviceIDs: "CL_DEVICE_NOT_FOUND"
  std::string error;
};

// The error for a host whose ICD loader finds no driver. The text names the searched directory.
//
// returns  unavailable, reason DRIVER_MISSING
Error no_driver();

// The error for a host whose drivers have no device. The text names each driver and, for PoCL, a
// cache directory that cannot be written: PoCL then starts without a device.
//
// returns  unavailable, reason DRIVER_MISSING
Error no_device(std::span<const EmptyPlatform> platforms);

}  // namespace gantry::opencl
