// SPDX-License-Identifier: Apache-2.0
//
// The CPU as a device table: aligned host memory, memcpy, one queue that is always done.
#pragma once

#include <gantry/device.h>

#include <cstdint>

namespace gantry {

// What compiled code may assume of tensor data, in bytes; 256 covers builds that raised TVM's 128.
// source   spec: alignment constants of TVM 0.2 to 0.26, DLPack's recommendation
constexpr std::uint64_t kTensorAlignment = 256;

// Static, complete; self is unused. Attribute 1000 counts the bytes allocated now.
const gantry_device_table* cpu_device_table();

}  // namespace gantry
