// SPDX-License-Identifier: Apache-2.0
//
// Explains why this host has no Vulkan driver.
#pragma once

#include <gantry/result.hpp>

namespace gantry::vulkan {

// The error for a host whose Vulkan loader finds no driver. The text names the variables that decide
// where it searches with their values, the searched directories with their content, and the
// manifests and libraries of drivers that cannot be opened.
//
// returns  unavailable, reason DRIVER_MISSING
Error no_driver();

}  // namespace gantry::vulkan
