// SPDX-License-Identifier: Apache-2.0
#include "core/writing/converted_dtype.hpp"

#include "core/formats/dtype_codes.hpp"

#include <gantry/dtype_text.hpp>

namespace gantry {

Result<gantry_dtype> converted_dtype(gantry_dtype dtype, bool is_private,
                                     const GenerationFacts& to) {
  if (is_private == to.has_private_float_codes) return dtype;
  if (is_private) return dlpack_dtype(dtype, true);
  for (const PrivateFloatCode& each : private_float_codes) {
    if (dtype.code == static_cast<std::uint8_t>(each.dlpack))
      return gantry_dtype{each.code, dtype.bits, dtype.lanes};
  }
  if (dtype.code <= static_cast<std::uint8_t>(TypeCode::complex)) return dtype;
  // Before DLPack had a number for them, truth values were integers of one bit, each in a byte.
  if (dtype.code == static_cast<std::uint8_t>(TypeCode::bool_)) {
    return gantry_dtype{static_cast<std::uint8_t>(TypeCode::uint), 1, dtype.lanes};
  }
  return unsupported("element type ", dtype_text(dtype), " has no number in ", to.name, " (",
                     to.releases, ")");
}

Status write_converted_dtype(ByteReader in, bool is_private, const GenerationFacts& to,
                             dmlc::Stream& out) {
  gantry_dtype dtype{};
  GANTRY_TRY(dtype.code, in.read_u8("dtype"));
  GANTRY_TRY(dtype.bits, in.read_u8("dtype"));
  GANTRY_TRY(dtype.lanes, in.read_u16("dtype"));
  GANTRY_TRY(const gantry_dtype converted, converted_dtype(dtype, is_private, to));
  out.Write(converted.code);
  out.Write(converted.bits);
  out.Write(converted.lanes);
  return {};
}

}  // namespace gantry
