// SPDX-License-Identifier: Apache-2.0
//
// The numbers of element types in payloads of another generation.
#pragma once

#include "core/formats/generation.hpp"

#include <gantry/tensor.h>
#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <dmlc/io.h>

namespace gantry {

// Offset of the dtype in an array record; see gantry/array_record.hpp.
constexpr std::uint64_t record_dtype_at = 28;

// Returns the number of an element type in another generation.
//
// is_private  codes 6 to 8 of `dtype` are float8 and float4 types
// returns     unsupported: the other generation has no number for it
Result<gantry_dtype> converted_dtype(gantry_dtype dtype, bool is_private,
                                     const GenerationFacts& to);
// Reads one and writes it.
Status write_converted_dtype(ByteReader in, bool is_private, const GenerationFacts& to,
                             dmlc::Stream& out);

}  // namespace gantry
