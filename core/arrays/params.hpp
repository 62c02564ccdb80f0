// SPDX-License-Identifier: Apache-2.0
//
// Named parameters in one file, as save_params() of the compilers writes them.
//
//   offset 0     u64  magic     0xF7E58D4F05049CB7
//          8     u64  reserved  0 in every known file; ignored
//          16    u64  count, then as many texts: the names
//          ..    u64  the same count, then as many array records (gantry/array_record.hpp)
//
// source   apache/tvm src/runtime/file_utils.cc
#pragma once

#include <gantry/array_record.hpp>

#include <string>

namespace gantry {

constexpr std::uint64_t params_magic = 0xF7E58D4F05049CB7;

struct Param {
  std::string_view name;
  // its data view the file's bytes, as the name does
  ArrayRecord array;
};

// bytes    [in]   the whole file
// returns  the parameters in the file's order; malformed at the first wrong byte: another magic, a
//          name that occurs twice, counts that differ, a wrong record, bytes after the last record
// lifetime names and data view `bytes`
// costs    O(parameters log parameters); does not read the data
Result<std::vector<Param>> read_params(std::span<const std::uint8_t> bytes);

// Returns the bytes of such a file, the same for the same parameters in the same order.
//
// returns  invalid where a name occurs twice, a type has several lanes (the size in a record does
//          not count them), the rank is above 32, or data are not as large as dtype and shape
//          require
Result<std::string> params_bytes(std::span<const Param> params);

}  // namespace gantry
