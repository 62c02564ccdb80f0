// SPDX-License-Identifier: Apache-2.0
//
// gantry/dtype_text.hpp - converts element types to and from text, and computes sizes in bytes.
//
//     float32  int8  uint4  bool  bfloat16  handle  complex64  float32x4  float8_e4m3fn
//     float4_e2m1fnx2
//
// Type codes are those of DLPack 1.1. Canonical texts and types correspond one to one:
// dtype_text(parse_dtype(t)) is t for every canonical t, and parse_dtype(dtype_text(d)) is d for
// every d that parse_dtype returns. Therefore "bool" is the boolean of one bit (uint1, compilers up
// to v0.23) and "bool8" is DLPack's boolean of one byte.
#pragma once

#include <gantry/tensor.h>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// DLPack 1.1 type codes. G3 artifacts of v0.14 to v0.20 use 6 to 8 with other meanings, which their
// reader translates.
enum class TypeCode : std::uint8_t {
  int_ = 0,
  uint = 1,
  float_ = 2,
  handle = 3,
  bfloat = 4,
  complex = 5,
  bool_ = 6,
  float8_e3m4 = 7,
  float8_e4m3 = 8,
  float8_e4m3b11fnuz = 9,
  float8_e4m3fn = 10,
  float8_e4m3fnuz = 11,
  float8_e5m2 = 12,
  float8_e5m2fnuz = 13,
  float8_e8m0fnu = 14,
  float6_e2m3fn = 15,
  float6_e3m2fn = 16,
  float4_e2m1fn = 17,
};

constexpr bool same_dtype(gantry_dtype a, gantry_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

// Returns the size of one element with all lanes, rounded up: 1 for uint4, 16 for float32x4. That of
// several is gantry_element_bytes() or tensor_bytes().
constexpr std::uint64_t element_bytes(gantry_dtype dtype) {
  return (std::uint64_t{dtype.bits} * dtype.lanes + 7) / 8;
}
// True if elements begin within bytes: int4, and not uint1, which has a byte.
constexpr bool is_packed(gantry_dtype dtype) {
  const std::uint64_t bits = std::uint64_t{dtype.bits} * dtype.lanes;
  return bits % 8 != 0 && !(dtype.code == static_cast<std::uint8_t>(TypeCode::uint) && bits == 1);
}

namespace dtypes {
constexpr gantry_dtype of(TypeCode code, std::uint8_t bits) {
  return {static_cast<std::uint8_t>(code), bits, 1};
}
constexpr gantry_dtype int8 = of(TypeCode::int_, 8);
constexpr gantry_dtype int16 = of(TypeCode::int_, 16);
constexpr gantry_dtype int32 = of(TypeCode::int_, 32);
constexpr gantry_dtype int64 = of(TypeCode::int_, 64);
constexpr gantry_dtype uint8 = of(TypeCode::uint, 8);
constexpr gantry_dtype uint16 = of(TypeCode::uint, 16);
constexpr gantry_dtype uint32 = of(TypeCode::uint, 32);
constexpr gantry_dtype uint64 = of(TypeCode::uint, 64);
constexpr gantry_dtype float16 = of(TypeCode::float_, 16);
constexpr gantry_dtype float32 = of(TypeCode::float_, 32);
constexpr gantry_dtype float64 = of(TypeCode::float_, 64);
constexpr gantry_dtype bfloat16 = of(TypeCode::bfloat, 16);
constexpr gantry_dtype handle = of(TypeCode::handle, 64);
}  // namespace dtypes

namespace detail {

struct TypeName {
  std::string_view text;
  TypeCode code;
  // 0: the width follows in the text
  std::uint8_t bits;
};

// A name comes before the names that are a prefix of it. The first name of a code and width is the
// canonical one.
constexpr TypeName type_names[] = {
    {"float8_e3m4", TypeCode::float8_e3m4, 8},
    {"float8_e4m3b11fnuz", TypeCode::float8_e4m3b11fnuz, 8},
    {"float8_e4m3fnuz", TypeCode::float8_e4m3fnuz, 8},
    {"float8_e4m3fn", TypeCode::float8_e4m3fn, 8},
    {"float8_e4m3", TypeCode::float8_e4m3, 8},
    {"float8_e5m2fnuz", TypeCode::float8_e5m2fnuz, 8},
    {"float8_e5m2", TypeCode::float8_e5m2, 8},
    {"float8_e8m0fnu", TypeCode::float8_e8m0fnu, 8},
    {"float6_e2m3fn", TypeCode::float6_e2m3fn, 6},
    {"float6_e3m2fn", TypeCode::float6_e3m2fn, 6},
    {"float4_e2m1fn", TypeCode::float4_e2m1fn, 4},
    // v0.14 to v0.20
    {"e4m3_float8", TypeCode::float8_e4m3fn, 8},
    {"e5m2_float8", TypeCode::float8_e5m2, 8},
    {"e2m1_float4", TypeCode::float4_e2m1fn, 4},
    {"bool8", TypeCode::bool_, 8},
    {"bool", TypeCode::uint, 1},
    {"handle", TypeCode::handle, 64},
    {"bfloat", TypeCode::bfloat, 0},
    {"complex", TypeCode::complex, 0},
    {"float", TypeCode::float_, 0},
    {"uint", TypeCode::uint, 0},
    {"int", TypeCode::int_, 0},
};

// Removes a decimal number without a leading zero from the front of `text` and returns it. Returns
// 0 if there is none or it is above `max`.
inline std::uint32_t take_number(std::string_view& text, std::uint32_t max) {
  std::uint32_t number = 0;
  if (text.empty() || text.front() < '1' || text.front() > '9') return 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc() || number > max) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

inline bool width_is_accepted(TypeCode code, std::uint32_t bits) {
  const bool integer = code == TypeCode::int_ || code == TypeCode::uint;
  if (integer && (bits == 1 || bits == 4)) return true;
  const bool complex = code == TypeCode::complex;
  const std::uint32_t fewest = integer || code == TypeCode::float_ ? 8 : complex ? 32 : 16;
  return bits >= fewest && bits <= 128 && (bits & (bits - 1)) == 0;
}

}  // namespace detail

// Parses an element type.
//
// text     [in]   "<base><bits>[x<lanes>]", "bool", "handle" or a name such as "float8_e4m3fn",
//                 each with or without lanes
// returns  MALFORMED    unknown type, width or lane count
//          UNSUPPORTED  a type that was registered with the compiler ("custom[posit]32"), or a
//                       vector of unknown length
// source   dmlc/dlpack include/dlpack/dlpack.h; apache/tvm include/tvm/runtime/data_type.h
inline Result<gantry_dtype> parse_dtype(std::string_view text) {
  const auto refuse = [&](const auto&... why) {
    return malformed(no_offset, "dtype ", quoted(text), ": ", why...).with_reason("DTYPE");
  };
  if (text.starts_with("custom[")) {
    return unsupported("dtype ", quoted(text), ": custom types need the compiler's own library")
        .with_reason("DTYPE");
  }
  for (const detail::TypeName& name : detail::type_names) {
    if (!text.starts_with(name.text)) continue;
    std::string_view rest = text.substr(name.text.size());
    std::uint32_t bits = name.bits;
    if (bits == 0) {
      bits = detail::take_number(rest, 128);
      if (!detail::width_is_accepted(name.code, bits)) {
        return refuse("width is not supported for ", name.text);
      }
    }
    std::uint32_t lanes = 1;
    if (rest.starts_with("xvscale")) {
      return unsupported("dtype ", quoted(text), ": vectors of unknown length are not supported")
          .with_reason("DTYPE");
    }
    if (rest.starts_with('x')) {
      rest.remove_prefix(1);
      lanes = detail::take_number(rest, UINT16_MAX);
      if (lanes == 0) return refuse("lane count is not a number from 1 to 65535");
    }
    if (!rest.empty()) return refuse(quoted(rest), " follows the type");
    return gantry_dtype{static_cast<std::uint8_t>(name.code), static_cast<std::uint8_t>(bits),
                        static_cast<std::uint16_t>(lanes)};
  }
  return refuse(
      "no such type, known are int, uint, float, bfloat, complex, bool, handle and the names of "
      "small floats");
}

// Returns the canonical text of a type; "code200_7x3" for one that parse_dtype() never returns.
inline std::string dtype_text(gantry_dtype dtype) {
  std::string text;
  for (const detail::TypeName& name : detail::type_names) {
    if (static_cast<std::uint8_t>(name.code) != dtype.code) continue;
    if (name.bits != 0 && name.bits != dtype.bits) continue;
    if (name.bits == 0 && !detail::width_is_accepted(name.code, dtype.bits)) continue;
    text = name.bits != 0 ? std::string(name.text) : concat(name.text, dtype.bits);
    break;
  }
  if (text.empty()) return concat("code", dtype.code, "_", dtype.bits, "x", dtype.lanes);
  return dtype.lanes == 1 ? text : concat(text, "x", dtype.lanes);
}

// Returns "[2, 3]". Shows at most 16 numbers.
inline std::string numbers_text(std::span<const std::int64_t> numbers) {
  constexpr std::size_t max_shown = 16;
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size() && i < max_shown; ++i)
    append(text, {TextPiece(i == 0 ? "" : ", "), TextPiece(numbers[i])});
  return text + (numbers.size() > max_shown ? ", ...]" : "]");
}

// Returns the type of a tensor: "float32[1, 64]".
inline std::string type_text(gantry_dtype dtype, std::span<const std::int64_t> shape) {
  return dtype_text(dtype) + numbers_text(shape);
}

// Returns the size of a compact tensor in bytes.
//
// shape    [in]   dimensions; empty: one element
// returns  MALFORMED  a dimension is negative, or the size exceeds 2^63 - 1 bytes, of packed elements
//                     2^63 - 1 bits. For this check a dimension of 0 counts as 1, so that strides do
//                     not overflow either
inline Result<std::uint64_t> tensor_bytes(std::span<const std::int64_t> shape, gantry_dtype dtype) {
  constexpr std::uint64_t max = INT64_MAX;
  const bool packed = is_packed(dtype);
  // in bytes, or in bits
  std::uint64_t size = packed ? std::uint64_t{dtype.bits} * dtype.lanes : element_bytes(dtype);
  bool empty = size == 0;
  if (empty) size = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) {
      return malformed(no_offset, "dimension ", i, " is ", shape[i], ", minimum is 0")
          .with_reason("SHAPE");
    }
    if (shape[i] == 0) {
      empty = true;
      continue;
    }
    const auto extent = static_cast<std::uint64_t>(shape[i]);
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(size, extent, &product) || product > max) {
      return malformed(no_offset, "dimension ", i, " is ", shape[i], ", room for ", max / size)
          .with_reason("SHAPE");
    }
    size = product;
  }
  if (empty) return 0;
  return packed ? (size + 7) / 8 : size;
}

}  // namespace gantry
