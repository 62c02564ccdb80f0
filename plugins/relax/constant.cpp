// SPDX-License-Identifier: Apache-2.0
#include "constant.hpp"

#include "refusal.hpp"

#include "core/format/vm_constants.hpp"

#include <gantry/aligned_record.hpp>

#include <bit>
#include <iterator>
#include <utility>

namespace gantry::relax {
namespace {

Result<Constant> read_array(ByteReader& in) {
  GANTRY_TRY(ArrayRecord array, read_array_record(in, "array"));
  GANTRY_CHECK(check_array_bytes(array));
  return Constant(std::move(array));
}

Result<Constant> read_dtype(ByteReader& in) {
  gantry_dtype dtype{};
  GANTRY_TRY(dtype.code, in.read_u8("dtype code"));
  GANTRY_TRY(dtype.bits, in.read_u8("dtype bits"));
  GANTRY_TRY(dtype.lanes, in.read_u16("dtype lanes"));
  return Constant(dtype);
}

Result<Constant> read_shape(ByteReader& in) {
  GANTRY_TRY(I64Array shape, in.read_i64_array("shape"));
  return Constant(std::move(shape.value));
}

Result<Constant> read_text(ByteReader& in) {
  GANTRY_TRY(const std::string_view text, in.read_string("text"));
  return Constant(text);
}

Result<Constant> read_integer(ByteReader& in) {
  GANTRY_TRY(const std::int64_t integer, in.read_i64("integer"));
  return Constant(integer);
}

Result<Constant> read_number(ByteReader& in) {
  GANTRY_TRY(const std::uint64_t bits, in.read_u64("number"));
  return Constant(std::bit_cast<double>(bits));
}

struct ContentWriter {
  SinkStream& out;

  void operator()(const ArrayRecord& array) const { write_array_record(out, array); }
  void operator()(gantry_dtype dtype) const {
    out.Write<std::uint8_t>(dtype.code);
    out.Write<std::uint8_t>(dtype.bits);
    out.Write<std::uint16_t>(dtype.lanes);
  }
  void operator()(const std::vector<std::int64_t>& shape) const { out.Write(shape); }
  void operator()(std::string_view text) const { out.write_text(text); }
  void operator()(std::int64_t integer) const { out.Write<std::int64_t>(integer); }
  void operator()(double number) const {
    out.Write<std::uint64_t>(std::bit_cast<std::uint64_t>(number));
  }
};

struct ConstantKind {
  std::int32_t packed, ffi_0_21, ffi;
  Result<Constant> (*read)(ByteReader& in);

  std::int32_t tag(Numbering numbering) const {
    if (numbering == Numbering::packed) return packed;
    return numbering == Numbering::ffi_0_21 ? ffi_0_21 : ffi;
  }
};

// In the order of Constant's types.
constexpr ConstantKind constant_kinds[] = {{0, 72, 70, read_array}, {1, 5, 5, read_dtype},
                                           {2, 71, 69, read_shape}, {3, 65, 65, read_text},
                                           {4, 1, 1, read_integer}, {5, 3, 3, read_number}};
static_assert(std::size(constant_kinds) == std::variant_size_v<Constant>);

}  // namespace

Result<Constant> read_constant(ByteReader& in, Numbering numbering) {
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::int32_t tag, in.read_i32("tag"));
  for (const ConstantKind& kind : constant_kinds) {
    if (tag == kind.tag(numbering)) return kind.read(in);
  }
  return refuse(at, "tag is ", tag, ", expected that of an array, dtype, shape, text or number");
}

void write_constant(SinkStream& out, const Constant& constant, Numbering numbering) {
  out.Write<std::int32_t>(constant_kinds[constant.index()].tag(numbering));
  std::visit(ContentWriter{out}, constant);
}

// The codes 6 to 8 of v0.14 to v0.20 are other types than those of DLPack.
gantry_dtype public_dtype(gantry_dtype dtype, Numbering numbering) {
  constexpr TypeCode types[] = {TypeCode::float8_e4m3fn, TypeCode::float8_e5m2,
                                TypeCode::float4_e2m1fn};
  if (numbering == Numbering::packed && dtype.code >= 6 && dtype.code <= 8) {
    dtype.code = static_cast<std::uint8_t>(types[dtype.code - 6]);
  }
  return dtype;
}

}  // namespace gantry::relax
