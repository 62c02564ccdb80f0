// SPDX-License-Identifier: Apache-2.0
//
// One numpy array as a file.
//
//   offset 0     6 bytes  magic    0x93 "NUMPY"
//          6     u8, u8   version  1.0, 2.0 or 3.0
//          8     u16 (1.0) or u32  length of the header
//          ..    header            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 64), }",
//                                  spaces up to a multiple of 64, newline
//          ..    data              compact, row-major
//
// source   numpy.lib.format; version 3.0 differs from 2.0 by UTF-8 in field names, which only record
//          types have
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gantry {

struct NpyArray {
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // view into the bytes read, unaligned
  std::span<const std::uint8_t> data;
  // offset of data
  std::uint64_t data_at = 0;
};

struct NpyHeader {
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // offset of the data
  std::uint64_t data_at = 0;
  // as dtype and shape say
  std::uint64_t data_bytes = 0;
};

// Longest front of a file that its header can need.
constexpr std::uint64_t max_npy_front = 12 + 65535;

// front    [in]   the file's first bytes, most_npy_front of them or all
// returns  as read_npy(), but for what only the data can be
Result<NpyHeader> read_npy_header(std::span<const std::uint8_t> front);

// bytes    [in]   the whole file, nothing behind the data
// returns  malformed    at the first wrong byte
//          unsupported  right, but not for us: object arrays ("object arrays hold pickled code and
//                       are never read"), records, big-endian numbers, Fortran order
// lifetime data views `bytes`
// costs    O(header); data is not touched
Result<NpyArray> read_npy(std::span<const std::uint8_t> bytes);

// The bytes of a version 1.0 file, the same for the same array.
//
// returns  invalid      data are not as large as dtype and shape say, or the rank is above 32
//          unsupported  numpy has no such type
Result<std::vector<std::uint8_t>> npy_bytes(gantry_dtype dtype, std::span<const std::int64_t> shape,
                                            std::span<const std::uint8_t> data);

// What stands before the data in such a file.
Result<std::vector<std::uint8_t>> npy_header(gantry_dtype dtype,
                                             std::span<const std::int64_t> shape);

}  // namespace gantry
