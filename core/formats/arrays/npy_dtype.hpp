// SPDX-License-Identifier: Apache-2.0
//
// Converts element types to and from their names in .npy files: "<f4", "|b1".
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// descr    [in]   the value of 'descr' in a header, without its quotes
// returns  unsupported  types of NumPy that are not read: object arrays, big-endian numbers,
//                       texts, dates, records
//          malformed    NumPy has no such type
// source   numpy.lib.format, the array interface's typestr
Result<gantry_dtype> dtype_of_descr(std::string_view descr);

// returns  unsupported for a type that NumPy does not have: bfloat16, small floats, vectors
// lifetime static
Result<std::string_view> descr_of_dtype(gantry_dtype dtype);

}  // namespace gantry
