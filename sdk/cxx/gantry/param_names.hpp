// SPDX-License-Identifier: Apache-2.0
//
// gantry/param_names.hpp - the beginning of a list of parameters (.params), as written by
// save_params() of the compilers.
//
//   offset 0     u64  magic     0xF7E58D4F05049CB7
//          8     u64  reserved  0 in every known file; ignored
//          16    u64  count, then as many texts: the names
//          ..    u64  the same count, then as many array records (gantry/array_record.hpp)
//
// source   apache/tvm src/runtime/file_utils.cc
#pragma once

#include <gantry/byte_reader.hpp>
#include <gantry/concat.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace gantry {

constexpr std::uint64_t params_magic = 0xF7E58D4F05049CB7;

// Reads everything up to the first array record. Names may be equal.
//
// returns  MALFORMED  another magic, counts that differ, or too few bytes
// lifetime names view the reader's bytes
inline Result<std::vector<std::string_view>> read_param_names(ByteReader& in) {
  const std::uint64_t magic_at = in.offset();
  GANTRY_TRY(const std::uint64_t magic, in.read_u64("params magic"));
  if (magic != params_magic) {
    return malformed(magic_at, "params magic is ", Hex{magic}, ", expected ", Hex{params_magic})
        .with_reason("PARAMS");
  }
  GANTRY_CHECK(in.read_u64("params reserved word"));
  // 8 bytes: the size of an empty name.
  GANTRY_TRY(const std::uint64_t count, in.read_count(8, "params names"));
  std::vector<std::string_view> names(count);
  for (std::size_t i = 0; i < count; ++i) {
    GANTRY_TRY(names[i], in.read_string(concat("params name ", i).c_str()));
  }
  const std::uint64_t count_at = in.offset();
  GANTRY_TRY(const std::uint64_t array_count, in.read_u64("params array count"));
  if (array_count != count) {
    return malformed(count_at, "params have ", array_count, " arrays, name count is ", count)
        .with_reason("PARAMS");
  }
  return names;
}

}  // namespace gantry
