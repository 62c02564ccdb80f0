// SPDX-License-Identifier: Apache-2.0
//
// The device table of the CPU: aligned host memory and one stream, whose work is complete when a
// call returns.
#pragma once

#include <gantry/device.h>

#include <cstdint>

namespace gantry {

// Alignment of tensor data in bytes. Compiled code may assume TVM's alignment of 64 or 128; 256
// also covers builds with a larger one.
//
// source   apache/tvm include/tvm/runtime/device_api.h kAllocAlignment; dlpack.h DLTensor::data
constexpr std::uint64_t kTensorAlignment = 256;

// Returns a static table; its functions ignore self. Of those that may be NULL each for itself it has
// `fill`. Attribute 1000 is the number of bytes that are currently allocated.
const gantry_device_table* cpu_device_table();

}  // namespace gantry
