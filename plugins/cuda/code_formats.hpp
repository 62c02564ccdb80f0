// SPDX-License-Identifier: Apache-2.0
//
// One reader for each format of device code; image.hpp has what they give, and says which of them a piece of code wants.
#pragma once

#include "image.hpp"

namespace gantry::cuda {

// in       [in]   over the code alone, at its beginning
// returns  as read_image()
Result<Image> read_ptx(ByteReader in);
Result<Image> read_cubin(ByteReader in);
Result<Image> read_fatbin(ByteReader in);

// Formats write 7.5 as 75.
inline Architecture architecture_of(std::uint32_t number) { return {number / 10, number % 10}; }

// Of PTX text.
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace gantry::cuda
