// SPDX-License-Identifier: Apache-2.0
//
// A constant of an executable: i32 tag ; content. Tags are run-time type numbers, which differ
// between releases:
//
//     content                v0.16 to v0.20   v0.21   since v0.22
//     array record                        0      72            70
//     dtype                               1       5             5
//     shape: vec<i64>                     2      71            69
//     text: str                           3      65            65
//     integer: i64                        4       1             1
//     number: f64                         5       3             3
#pragma once

#include <gantry/array_record.hpp>
#include <gantry/blob.hpp>
#include <gantry/dmlc_stream.hpp>

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry::relax {

// An array, a dtype, a shape, a text, an integer or a number. Array data and texts are views into
// the payload. Types have the codes of the file: see public_dtype().
using Constant = std::variant<ArrayRecord, gantry_dtype, std::vector<std::int64_t>,
                              std::string_view, std::int64_t, double>;

// The smallest constant: tag and dtype.
constexpr std::uint64_t min_constant_bytes = 4 + 4;

// Reads one constant.
//
// numbering  [in]  not unknown
// returns  MALFORMED    an unknown tag, or malformed content
//          UNSUPPORTED  an element type that is not supported in files
// costs    O(dimensions); array data are not read
Result<Constant> read_constant(ByteReader& in, Numbering numbering);

// Writes the bytes that read_constant() read.
void write_constant(SinkStream& out, const Constant& constant, Numbering numbering);

// Returns DLPack's type for the one of a constant.
gantry_dtype public_dtype(gantry_dtype dtype, Numbering numbering);

}  // namespace gantry::relax
