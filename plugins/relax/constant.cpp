// SPDX-License-Identifier: Apache-2.0
#include "constant.hpp"

#include "refusal.hpp"

#include <bit>
#include <utility>

namespace gantry::relax {
namespace {

// The codes 6 to 8 of v0.14 to v0.20 are other types than those of DLPack.
gantry_dtype public_dtype(gantry_dtype dtype, Numbering numbering) {
  constexpr TypeCode types[] = {TypeCode::float8_e4m3fn, TypeCode::float8_e5m2,
                                TypeCode::float4_e2m1fn};
  if (numbering == Numbering::packed && dtype.code >= 6 && dtype.code <= 8) {
    dtype.code = static_cast<std::uint8_t>(types[dtype.code - 6]);
  }
  return dtype;
}

Result<Constant> read_array(ByteReader& in, Numbering numbering) {
  GANTRY_TRY(ArrayRecord array, read_array_record(in, "array"));
  array.dtype = public_dtype(array.dtype, numbering);
  return Constant(std::move(array));
}

Result<Constant> read_dtype(ByteReader& in, Numbering numbering) {
  gantry_dtype dtype{};
  GANTRY_TRY(dtype.code, in.read_u8("dtype code"));
  GANTRY_TRY(dtype.bits, in.read_u8("dtype bits"));
  GANTRY_TRY(dtype.lanes, in.read_u16("dtype lanes"));
  return Constant(public_dtype(dtype, numbering));
}

Result<Constant> read_shape(ByteReader& in, Numbering) {
  GANTRY_TRY(I64Array shape, in.read_i64_array("shape"));
  return Constant(std::move(shape.value));
}

Result<Constant> read_text(ByteReader& in, Numbering) {
  GANTRY_TRY(const std::string_view text, in.read_string("text"));
  return Constant(text);
}

Result<Constant> read_integer(ByteReader& in, Numbering) {
  GANTRY_TRY(const std::int64_t integer, in.read_i64("integer"));
  return Constant(integer);
}

Result<Constant> read_number(ByteReader& in, Numbering) {
  GANTRY_TRY(const std::uint64_t bits, in.read_u64("number"));
  return Constant(std::bit_cast<double>(bits));
}

struct ConstantKind {
  std::int32_t packed, ffi_0_21, ffi;
  Result<Constant> (*read)(ByteReader& in, Numbering numbering);

  std::int32_t tag(Numbering numbering) const {
    if (numbering == Numbering::packed) return packed;
    return numbering == Numbering::ffi_0_21 ? ffi_0_21 : ffi;
  }
};

constexpr ConstantKind constant_kinds[] = {{0, 72, 70, read_array}, {1, 5, 5, read_dtype},
                                           {2, 71, 69, read_shape}, {3, 65, 65, read_text},
                                           {4, 1, 1, read_integer}, {5, 3, 3, read_number}};

}  // namespace

Result<Constant> read_constant(ByteReader& in, Numbering numbering) {
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::int32_t tag, in.read_i32("tag"));
  for (const ConstantKind& kind : constant_kinds) {
    if (tag == kind.tag(numbering)) return kind.read(in, numbering);
  }
  return refuse(at, "tag is ", tag, ", expected that of an array, dtype, shape, text or number");
}

}  // namespace gantry::relax
