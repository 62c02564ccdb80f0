// SPDX-License-Identifier: Apache-2.0
//
// One element of an array as a number.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace gantry::cli {

// A long double holds every element type exactly: 64 bits of mantissa or more on our hosts.
using ElementReader = long double (*)(const std::uint8_t* element);

// The reader of a type; nothing where it is no integer, boolean or IEEE or bfloat number of one lane.
std::optional<ElementReader> element_reader(gantry_dtype dtype);

// Shortest text that tells the element from its neighbours in its own type; bytes in hex where there
// is no reader.
std::string element_text(const std::uint8_t* element, gantry_dtype dtype);

}  // namespace gantry::cli
