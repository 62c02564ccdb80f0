// SPDX-License-Identifier: Apache-2.0
//
// gantry/array_record.hpp - an array in a file: in parameter lists, constant pools and programs of
// virtual machines.
//
//   offset 0     u64  magic       0xDD5E40F096B4A13F
//          8     u64  reserved    0 in every known file; ignored
//          16    i32  device type 1, the CPU
//          20    i32  device id
//          24    i32  ndim
//          28    u8, u8, u16      dtype: code, bits, lanes
//          32    i64  shape[ndim]
//          ..    i64  nbytes
//          ..    data, compact, row-major; at any address
//
// nbytes determines the size of the data. Most writers omit the lanes of a vector type from it.
#pragma once

#include <gantry/tensor.h>
#include <gantry/byte_reader.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

constexpr std::uint64_t array_record_magic = 0xDD5E40F096B4A13F;

// The limit of NumPy and of every known compiler. It also limits the memory for a shape.
constexpr std::int32_t max_array_dimensions = 32;

struct ArrayRecord {
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // A view into the reader's bytes, unaligned.
  std::span<const std::uint8_t> data;
  // Offset of data in the reader.
  std::uint64_t data_at = 0;
  // Have no meaning; kept for writing.
  std::uint64_t reserved = 0;
  std::int32_t device_id = 0;
};

struct NamedArray {
  std::string_view name;
  ArrayRecord array;
};

// Checks that an array in a file may have elements of this type.
//
// returns  UNSUPPORTED  a handle, or a type code that this version does not support
//          MALFORMED    a number of a width that does not exist
inline Status check_record_dtype(gantry_dtype dtype, std::uint64_t at, std::string_view field) {
  const auto code = static_cast<TypeCode>(dtype.code);
  if (code == TypeCode::handle || code > TypeCode::float4_e2m1fn) {
    Error error =
        unsupported(field, ": dtype has code ", dtype.code,
                    code == TypeCode::handle ? ", an address, which has no meaning in a file"
                                             : ", which this version does not support")
            .with_reason("ARRAY_RECORD");
    error.offset = at;
    return error;
  }
  const bool number =
      code <= TypeCode::float_ || code == TypeCode::bfloat || code == TypeCode::complex;
  if (number && !detail::width_is_accepted(code, dtype.bits)) {
    return malformed(at, field, ": dtype has code ", dtype.code, " and ", dtype.bits,
                     " bits, a width that no type has")
        .with_reason("ARRAY_RECORD");
  }
  return {};
}

namespace detail {
// Error messages begin after the record's name. The caller inserts it, so that the name is only
// copied for an error.
inline Result<ArrayRecord> read_unnamed_array_record(ByteReader& in) {
  const auto refuse = [&](std::uint64_t at, const auto&... why) {
    return malformed(at, ": ", why...).with_reason("ARRAY_RECORD");
  };
  const std::uint64_t start = in.offset();
  GANTRY_TRY(const std::uint64_t magic, in.read_u64(" magic"));
  if (magic != array_record_magic) {
    return refuse(start, "magic is ", Hex{magic}, ", expected ", Hex{array_record_magic});
  }
  ArrayRecord record;
  GANTRY_TRY(record.reserved, in.read_u64(" reserved word"));

  const std::uint64_t device_at = in.offset();
  GANTRY_TRY(const std::int32_t device_type, in.read_i32(" device type"));
  GANTRY_TRY(record.device_id, in.read_i32(" device id"));
  if (device_type != 1)
    return refuse(device_at, "device type is ", device_type, ", expected 1 (CPU)");

  const std::uint64_t ndim_at = in.offset();
  GANTRY_TRY(const std::int32_t ndim, in.read_i32(" ndim"));
  if (ndim < 0 || ndim > max_array_dimensions) {
    return refuse(ndim_at, "ndim is ", ndim, ", range is 0 to ", max_array_dimensions);
  }

  const std::uint64_t dtype_at = in.offset();
  GANTRY_TRY(record.dtype.code, in.read_u8(" dtype code"));
  GANTRY_TRY(record.dtype.bits, in.read_u8(" dtype bits"));
  GANTRY_TRY(record.dtype.lanes, in.read_u16(" dtype lanes"));
  if (record.dtype.bits == 0 || record.dtype.lanes == 0) {
    return refuse(dtype_at, "dtype has ", record.dtype.bits, " bits and ", record.dtype.lanes,
                  " lanes, minimum is 1");
  }

  GANTRY_CHECK(check_record_dtype(record.dtype, dtype_at, ""));

  const std::uint64_t shape_at = in.offset();
  GANTRY_TRY(auto shape, in.read_numbers<std::int64_t>(static_cast<std::uint64_t>(ndim), " shape"));
  const Result<std::uint64_t> with_lanes = tensor_bytes(shape.value, record.dtype);
  if (!with_lanes.ok()) return refuse(shape_at, with_lanes.error().message);
  gantry_dtype one_lane = record.dtype;
  one_lane.lanes = 1;
  GANTRY_TRY(const std::uint64_t without_lanes, tensor_bytes(shape.value, one_lane));

  const std::uint64_t nbytes_at = in.offset();
  GANTRY_TRY(const std::int64_t nbytes, in.read_i64(" nbytes"));
  const auto size = static_cast<std::uint64_t>(nbytes);
  if (nbytes < 0 || (size != without_lanes && size != *with_lanes)) {
    return refuse(nbytes_at, "nbytes is ", nbytes, ", ", dtype_text(record.dtype),
                  " of this shape takes ", *with_lanes);
  }
  record.shape = std::move(shape.value);
  record.data_at = in.offset();
  GANTRY_TRY(record.data, in.read_bytes(size, " data"));
  return record;
}
}  // namespace detail

// Reads one record.
//
// in       [in, out] at the magic on entry, after the data on success, undefined after a failure
// field    [in]   name of the record for messages: "constant 3"
// returns  MALFORMED    at the first wrong field
//          UNSUPPORTED  an element type that is not supported in files
// lifetime data views the reader's bytes
// costs    time and memory O(ndim); the data are not read
// source   apache/tvm include/tvm/runtime/ndarray.h (v0.4 to v0.20), tensor.h (later)
inline Result<ArrayRecord> read_array_record(ByteReader& in, std::string_view field) {
  auto record = detail::read_unnamed_array_record(in);
  if (!record.ok()) [[unlikely]]
    record.error().message = Message(field, record.error().message);
  return record;
}

}  // namespace gantry
