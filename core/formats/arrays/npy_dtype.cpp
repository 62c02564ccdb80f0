// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/npy_dtype.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

namespace gantry {
namespace {

constexpr gantry_dtype dtype(TypeCode code, std::uint8_t bits) {
  return {static_cast<std::uint8_t>(code), bits, 1};
}

struct Pair {
  std::string_view descr;
  gantry_dtype dtype;
};

// The reader returns the first type of a name. `bool` of graph files has one bit and DLPack's
// boolean has eight; both are stored in one byte.
constexpr Pair pairs[] = {
    {"|b1", dtype(TypeCode::uint, 1)},       {"|b1", dtype(TypeCode::bool_, 8)},
    {"|i1", dtype(TypeCode::int_, 8)},       {"<i2", dtype(TypeCode::int_, 16)},
    {"<i4", dtype(TypeCode::int_, 32)},      {"<i8", dtype(TypeCode::int_, 64)},
    {"|u1", dtype(TypeCode::uint, 8)},       {"<u2", dtype(TypeCode::uint, 16)},
    {"<u4", dtype(TypeCode::uint, 32)},      {"<u8", dtype(TypeCode::uint, 64)},
    {"<f2", dtype(TypeCode::float_, 16)},    {"<f4", dtype(TypeCode::float_, 32)},
    {"<f8", dtype(TypeCode::float_, 64)},    {"<c8", dtype(TypeCode::complex, 64)},
    {"<c16", dtype(TypeCode::complex, 128)},
};

}  // namespace

Result<gantry_dtype> dtype_of_descr(std::string_view descr) {
  for (const Pair& pair : pairs) {
    if (pair.descr == descr) return pair.dtype;
  }
  const auto refuse = [&](std::string_view why) {
    return unsupported("npy type ", quoted(descr), ": ", why).with_reason("NPY_TYPE");
  };
  const char order = descr.empty() ? '\0' : descr[0];
  const char kind = descr.size() < 2 ? '\0' : descr[1];
  if (kind == 'O') return refuse("object arrays contain pickled code and are never read");
  if (order == '>') return refuse("big-endian numbers are not read, convert with .astype() first");
  if (kind == 'S' || kind == 'U' || kind == 'a') return refuse("texts are not numbers");
  if (kind == 'M' || kind == 'm') return refuse("dates and times are not read, use .view('<i8')");
  if (kind == 'V') return refuse("raw bytes have no type, use .view() with one first");
  if (descr == "<f16" || descr == "<c32") return refuse("long double differs between machines");
  return malformed(no_offset, "npy type ", quoted(descr), " is not one of numpy's")
      .with_reason("NPY_TYPE");
}

Result<std::string_view> descr_of_dtype(gantry_dtype type) {
  for (const Pair& pair : pairs) {
    if (same_dtype(pair.dtype, type)) return pair.descr;
  }
  return unsupported("npy files have no type for ", dtype_text(type)).with_reason("NPY_TYPE");
}

}  // namespace gantry
