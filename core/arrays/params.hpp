// SPDX-License-Identifier: Apache-2.0
//
// Reads .params files: named parameters, as written by save_params() of the compilers.
//
//   offset 0     u64  magic     0xF7E58D4F05049CB7
//          8     u64  reserved  0 in every known file; ignored
//          16    u64  count, then as many texts: the names
//          ..    u64  the same count, then as many array records (gantry/array_record.hpp)
//
// source   apache/tvm src/runtime/file_utils.cc
#pragma once

#include <gantry/array_record.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

constexpr std::uint64_t params_magic = 0xF7E58D4F05049CB7;

struct Param {
  std::string_view name;
  // like the name, its data are a view of the file's bytes
  ArrayRecord array;
};

// Returns the parameters in the order of the file.
//
// bytes    [in]   the whole file
// returns  malformed at the first wrong byte: another magic, a name that occurs twice, counts that
//          differ, a wrong record, bytes after the last record
// lifetime names and data view `bytes`
// costs    O(parameters log parameters); does not read the data
Result<std::vector<Param>> read_params(std::span<const std::uint8_t> bytes);

}  // namespace gantry
