// SPDX-License-Identifier: Apache-2.0
//
// gantry/aligned_record.hpp - writes array records with aligned data, which a loader can use in
// place.
//
// A payload has no padding. Instead, a filler aligns the record that follows it. A filler is an
// array of zeros that no code uses: in a list of named arrays its name begins with
// "__gantry_fill_", in the code of a virtual machine it is a constant without a reference.
//
//     names     "__gantry_fill_0" "p0" "__gantry_fill_1" "p1" ...
//     records   filler 0 (uint8[n]) | p0's header | p0's aligned data | filler 1 ...
//
// The rule for an alignment of 128: data begin at multiples of 128 bytes, and data of at least
// 64 KiB at multiples of 4,096 bytes (pages). Such a filler has 1 to 4,096 bytes.
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

// Of file offsets. Containers begin at a page of the file, so that offsets from a container's first
// byte have the same alignment.
constexpr std::uint64_t record_data_alignment = 128;
constexpr std::uint64_t max_record_data_alignment = 65536;
constexpr std::uint64_t record_page_bytes = 4096;
// Data of this size begin at a page.
constexpr std::uint64_t min_paged_data_bytes = 65536;
constexpr std::string_view filler_prefix = "__gantry_fill_";

constexpr bool is_filler(std::string_view name) { return name.starts_with(filler_prefix); }
inline std::string filler_name(std::size_t index) { return concat(filler_prefix, index); }

// Returns the names in the order of the file: each one preceded by that of its filler.
template <class Names>
std::vector<std::string> names_with_fillers(const Names& names) {
  std::vector<std::string> all;
  for (const auto& name : names) {
    all.push_back(filler_name(all.size() / 2));
    all.emplace_back(name);
  }
  return all;
}

// Returns the alignment of `data_bytes` bytes of data.
//
// alignment  [in]  requested for all data: a power of two
constexpr std::uint64_t data_alignment(std::uint64_t data_bytes, std::uint64_t alignment) {
  return data_bytes < min_paged_data_bytes ? alignment : std::max(alignment, record_page_bytes);
}

// Writes a record up to its data, in the format of read_array_record().
//
// out      [in]   a dmlc::Stream, or a class with the same Write functions
// nbytes   [in]   size of the data that the caller writes next
// reserved, device_id  [in]   as ArrayRecord has them
template <class Stream>
void write_record_header(Stream& out, gantry_dtype dtype, std::span<const std::int64_t> shape,
                         std::uint64_t nbytes, std::uint64_t reserved = 0,
                         std::int32_t device_id = 0) {
  out.template Write<std::uint64_t>(array_record_magic);
  out.template Write<std::uint64_t>(reserved);
  // Device type: the CPU.
  out.template Write<std::int32_t>(1);
  out.template Write<std::int32_t>(device_id);
  out.template Write<std::int32_t>(static_cast<std::int32_t>(shape.size()));
  out.template Write<std::uint8_t>(dtype.code);
  out.template Write<std::uint8_t>(dtype.bits);
  out.template Write<std::uint16_t>(dtype.lanes);
  for (const std::int64_t extent : shape) out.template Write<std::int64_t>(extent);
  out.template Write<std::uint64_t>(nbytes);
}

// Writes the record that read_array_record() read.
template <class Stream>
void write_array_record(Stream& out, const ArrayRecord& record) {
  write_record_header(out, record.dtype, record.shape, record.data.size(), record.reserved,
                      record.device_id);
  out.Write(record.data.data(), record.data.size());
}

constexpr std::uint64_t record_header_bytes(std::size_t ndim) {
  return 40 + 8 * std::uint64_t{ndim};
}

// The record after a filler.
struct NextRecord {
  // Bytes between the filler's end and the data.
  std::uint64_t header_bytes = 0;
  std::uint64_t data_bytes = 0;
};

// Writes a filler of such a size that the data of the next record are aligned.
//
// at       [in]   offset of `out` in the file
template <class Stream>
void write_filler(Stream& out, std::uint64_t at, NextRecord next,
                  std::uint64_t alignment = record_data_alignment) {
  const std::uint64_t boundary = data_alignment(next.data_bytes, alignment);
  const std::uint64_t data_at = at + record_header_bytes(1) + next.header_bytes;
  const std::uint64_t size = boundary - data_at % boundary;
  const auto extent = static_cast<std::int64_t>(size);
  write_record_header(out, {static_cast<std::uint8_t>(TypeCode::uint), 8, 1}, {&extent, 1}, size);
  static constexpr std::uint8_t zeros[record_page_bytes] = {};
  for (std::uint64_t left = size; left != 0;) {
    const std::uint64_t part = std::min<std::uint64_t>(left, sizeof zeros);
    out.Write(zeros, part);
    left -= part;
  }
}

}  // namespace gantry
