// SPDX-License-Identifier: Apache-2.0
//
// One element of an array, as bytes and as a number.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

// A long double represents every element type exactly: it has at least 64 bits of mantissa on all
// supported hosts.
using ElementReader = long double (*)(const std::uint8_t* element);

// The reader of a type; nothing if the type is not an integer, boolean, IEEE or bfloat number of
// one lane.
std::optional<ElementReader> element_reader(gantry_dtype dtype);

// Returns the address of an element. One that begins within a byte is copied.
//
// bytes    [in]   of the array, which has more than `index` elements
// room     [out]  for the copy
const std::uint8_t* element_at(std::span<const std::uint8_t> bytes, gantry_dtype dtype,
                               std::uint64_t index, std::vector<std::uint8_t>& room);

// The shortest text that identifies the element's value in its type; bytes in hex if the type has
// no reader.
std::string element_text(const std::uint8_t* element, gantry_dtype dtype);

}  // namespace gantry::cli
