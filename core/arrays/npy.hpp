// SPDX-License-Identifier: Apache-2.0
//
// One NumPy array as a file.
//
//   offset 0     6 bytes  magic    0x93 "NUMPY"
//          6     u8, u8   version  1.0, 2.0 or 3.0
//          8     u16 (1.0) or u32  length of the header
//          ..    header            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 64), }",
//                                  spaces up to a multiple of 64, newline
//          ..    data              compact, row-major
//
// source   numpy.lib.format; version 3.0 differs from 2.0 by UTF-8 in field names, which only
//          record types have
#pragma once

#include <gantry/tensor.h>
#include <gantry/array_record.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

constexpr std::string_view npy_magic = "\x93NUMPY";

// What a file contains about one array beside its data.
struct ArrayHeader {
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // offset of the data in the file; in an .npz file, in the unpacked member
  std::uint64_t data_at = 0;
  // as dtype and shape require
  std::uint64_t data_bytes = 0;
};

// The longest header, with what is before it.
constexpr std::uint64_t max_npy_front = 12 + 65535;

// front    [in]   the first bytes of the file: max_npy_front, or all that there are
// returns  as read_npy(); does not check that the data are there
Result<ArrayHeader> read_npy_header(std::span<const std::uint8_t> front);

// bytes    [in]   the whole file; nothing follows the data
// returns  malformed    at the first wrong byte
//          unsupported  valid, but never read: object arrays (they contain pickled code), records,
//                       big-endian numbers, Fortran order
// lifetime data views `bytes`
// costs    O(header); does not read the data
Result<ArrayRecord> read_npy(std::span<const std::uint8_t> bytes);

// Returns a file of version 1.0, the same bytes for the same array.
//
// returns  invalid      data are not as large as dtype and shape require, or the rank is above 32
//          unsupported  NumPy has no such type
Result<std::vector<std::uint8_t>> npy_bytes(gantry_dtype dtype, std::span<const std::int64_t> shape,
                                            std::span<const std::uint8_t> data);

// Returns the part of such a file before the data.
Result<std::vector<std::uint8_t>> npy_header(gantry_dtype dtype,
                                             std::span<const std::int64_t> shape);

}  // namespace gantry
