// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes .npy files, which contain one NumPy array.
//
//   offset 0     6 bytes  magic    0x93 "NUMPY"
//          6     u8, u8   version  1.0, 2.0 or 3.0
//          8     u16 (1.0) or u32  length of the header
//          ..    header            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 64), }",
//                                  spaces up to a multiple of 64, newline
//          ..    data              compact, row-major
//
// Version 3.0 differs from 2.0 by UTF-8 in field names, which only record types have.
//
// source   numpy.lib.format
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

// Type, shape and location of the data of one array.
struct ArrayHeader {
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // offset of the data in the file or, in an .npz file, in the decompressed member
  std::uint64_t data_at = 0;
  // as dtype and shape require
  std::uint64_t data_bytes = 0;
};

// The maximum size of a header and the bytes before it.
constexpr std::uint64_t max_npy_front = 12 + 65535;

// Reads the header of a file. Does not check the size of the data.
//
// front    [in]   the first max_npy_front bytes of the file, or the whole file if it is shorter
// returns  as read_npy()
Result<ArrayHeader> read_npy_header(std::span<const std::uint8_t> front);

// Reads a file.
//
// bytes    [in]   the whole file
// returns  malformed    at the first wrong byte; also if bytes follow the data
//          unsupported  object arrays (they contain pickled code), records, big-endian numbers,
//                       Fortran order
// lifetime data views `bytes`
// costs    O(header); does not read the data
Result<ArrayRecord> read_npy(std::span<const std::uint8_t> bytes);

// Returns a file of version 1.0. The same array results in the same bytes.
//
// returns  invalid      the size of data does not match dtype and shape, or the rank is above 32
//          unsupported  NumPy has no such type
Result<std::vector<std::uint8_t>> npy_bytes(gantry_dtype dtype, std::span<const std::int64_t> shape,
                                            std::span<const std::uint8_t> data);

// Returns the part of a file before the data.
Result<std::vector<std::uint8_t>> npy_header(gantry_dtype dtype,
                                             std::span<const std::int64_t> shape);

}  // namespace gantry
