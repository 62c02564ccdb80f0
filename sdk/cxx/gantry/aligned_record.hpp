// SPDX-License-Identifier: Apache-2.0
//
// gantry/aligned_record.hpp - writes array records with aligned data, which a loader can use in
// place.
//
// A container of layout one has no padding. Instead, a filler aligns the record that follows it. A
// filler is an array of 1 to 128 bytes under a name that no graph uses. Other runtimes skip
// parameters that are not inputs, so they can read files with fillers.
//
//     names     "__gantry_fill_0" "p0" "__gantry_fill_1" "p1" ...
//     records   filler 0 (uint8[n]) | p0's header | p0's data at a multiple of 128 | filler 1 ...
//
// All names are stored before the records. Whether a record needs a filler is not known when the
// names are written, so every record has one.
#pragma once

#include <gantry/array_record.hpp>
#include <gantry/result.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Relative to the container's first byte.
constexpr std::uint64_t record_data_alignment = 128;
constexpr std::string_view filler_prefix = "__gantry_fill_";

constexpr bool is_filler(std::string_view name) { return name.starts_with(filler_prefix); }

// Returns the names in the order of the file: each one preceded by that of its filler.
template <class Names>
std::vector<std::string> names_with_fillers(const Names& names) {
  std::vector<std::string> all;
  for (const auto& name : names) {
    all.push_back(concat(filler_prefix, all.size() / 2));
    all.emplace_back(name);
  }
  return all;
}

// Writes a record up to its data, in the format of read_array_record().
//
// out      [in]   a dmlc::Stream, or a class with the same Write functions
// nbytes   [in]   size of the data that the caller writes next
template <class Stream>
void write_record_header(Stream& out, gantry_dtype dtype, std::span<const std::int64_t> shape,
                         std::uint64_t nbytes) {
  out.template Write<std::uint64_t>(array_record_magic);
  out.template Write<std::uint64_t>(0);
  // Device type and id: the CPU.
  out.template Write<std::int32_t>(1);
  out.template Write<std::int32_t>(0);
  out.template Write<std::int32_t>(static_cast<std::int32_t>(shape.size()));
  out.template Write<std::uint8_t>(dtype.code);
  out.template Write<std::uint8_t>(dtype.bits);
  out.template Write<std::uint16_t>(dtype.lanes);
  for (const std::int64_t extent : shape) out.template Write<std::int64_t>(extent);
  out.template Write<std::uint64_t>(nbytes);
}

constexpr std::uint64_t record_header_bytes(std::size_t ndim) {
  return 40 + 8 * std::uint64_t{ndim};
}

// Writes a filler of such a size that the data of the next record, of `ndim` dimensions, are
// aligned.
//
// at       [in]   offset of `out` from the container's first byte
template <class Stream>
void write_filler(Stream& out, std::uint64_t at, std::size_t ndim,
                  std::uint64_t alignment = record_data_alignment) {
  const std::uint64_t data_at = at + record_header_bytes(1) + record_header_bytes(ndim);
  const std::uint64_t size = alignment - data_at % alignment;
  const auto extent = static_cast<std::int64_t>(size);
  write_record_header(out, {static_cast<std::uint8_t>(TypeCode::uint), 8, 1}, {&extent, 1}, size);
  constexpr std::uint8_t zeros[record_data_alignment] = {};
  for (std::uint64_t left = size; left != 0;) {
    const std::uint64_t part = std::min<std::uint64_t>(left, sizeof zeros);
    out.Write(zeros, part);
    left -= part;
  }
}

}  // namespace gantry
