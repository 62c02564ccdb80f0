// SPDX-License-Identifier: Apache-2.0
//
// Element types of the buffer protocol.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <optional>

namespace gantry::python {

// Reads a format of the buffer protocol, which is one of the module `struct` for one element.
//
// format   [in]   NULL: unsigned bytes
// returns  nullopt: records, texts, objects, other byte orders and numbers that no tensor has
std::optional<gantry_dtype> dtype_of_format(const char* format, std::int64_t item_bytes);

// Returns the format of an element type; NULL if the buffer protocol has none: bfloat16, small floats,
// vectors.
//
// lifetime static
const char* format_of_dtype(gantry_dtype dtype);

}  // namespace gantry::python
