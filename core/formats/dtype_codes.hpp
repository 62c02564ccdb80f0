// SPDX-License-Identifier: Apache-2.0
//
// Codes of element types in files that are not those of DLPack.
#pragma once

#include <gantry/tensor.h>
#include <gantry/dtype_text.hpp>

#include <cstdint>

namespace gantry {

// Float types whose numbers differ between DLPack and v0.14 to v0.20.
struct PrivateFloatCode {
  std::uint8_t code;
  TypeCode dlpack;
};
constexpr PrivateFloatCode private_float_codes[] = {
    {6, TypeCode::float8_e4m3fn}, {7, TypeCode::float8_e5m2}, {8, TypeCode::float4_e2m1fn}};

// Returns DLPack's type for one in a file.
//
// has_private_float_codes  see ExporterFacts
constexpr gantry_dtype dlpack_dtype(gantry_dtype dtype, bool has_private_float_codes) {
  if (!has_private_float_codes) return dtype;
  for (const PrivateFloatCode& each : private_float_codes) {
    if (dtype.code == each.code) {
      dtype.code = static_cast<std::uint8_t>(each.dlpack);
      break;
    }
  }
  return dtype;
}

}  // namespace gantry
