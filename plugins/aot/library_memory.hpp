// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/format/memory_image.hpp"

#include <gantry/result.hpp>

namespace gantry::aot {

// Returns the readable memory of the loaded library or program that contains an address.
//
// returns  MALFORMED  no library contains the address (AOT_METADATA)
// lifetime the image is valid as long as the library is loaded
// costs    O(loaded libraries)
Result<MemoryImage> memory_of_library(const void* address);

}  // namespace gantry::aot
