// SPDX-License-Identifier: Apache-2.0
//
// Readers for the formats of device code. read_image() in image.hpp selects one by the code's first
// bytes.
#pragma once

#include "image.hpp"

namespace gantry::cuda {

// in       [in]   contains only the code, at its beginning
// returns  as read_image()
Result<Image> read_ptx(ByteReader in);
Result<Image> read_cubin(ByteReader in);
Result<Image> read_fatbin(ByteReader in);

// Converts an architecture's number: 75 is 7.5.
inline Architecture architecture_of(std::uint32_t number) { return {number / 10, number % 10}; }

// Reads PTX text.
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace gantry::cuda
