// SPDX-License-Identifier: Apache-2.0
//
// Element types as .npy files name them: "<f4", "|b1".
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// descr    [in]   the text behind 'descr' in a header, without its quotes
// returns  unsupported where numpy has the type and we do not: object arrays, big-endian numbers,
//          texts, dates, records; malformed where numpy has no such type either
// source   numpy.lib.format, the array interface's typestr
Result<gantry_dtype> dtype_of_descr(std::string_view descr);

// returns  unsupported for a type that numpy has no name for: bfloat16, small floats, vectors
// lifetime static
Result<std::string_view> descr_of_dtype(gantry_dtype dtype);

}  // namespace gantry
