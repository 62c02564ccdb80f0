// SPDX-License-Identifier: Apache-2.0
#include "core/formats/vm_constants.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace gantry {
namespace {

Result<VmConstant> read_array_constant(ByteReader& in) {
  GANTRY_TRY(ArrayRecord array, read_array_record(in, "array"));
  return VmConstant(std::move(array));
}

Result<VmConstant> read_dtype_constant(ByteReader& in) {
  gantry_dtype dtype{};
  GANTRY_TRY(dtype.code, in.read_u8("dtype code"));
  GANTRY_TRY(dtype.bits, in.read_u8("dtype bits"));
  GANTRY_TRY(dtype.lanes, in.read_u16("dtype lanes"));
  return VmConstant(dtype);
}

Result<VmConstant> read_shape_constant(ByteReader& in) {
  GANTRY_TRY(I64Array shape, in.read_i64_array("shape"));
  return VmConstant(std::move(shape.value));
}

Result<VmConstant> read_text_constant(ByteReader& in) {
  GANTRY_TRY(const std::string_view text, in.read_string("text"));
  return VmConstant(text);
}

Result<VmConstant> read_integer_constant(ByteReader& in) {
  GANTRY_TRY(const std::int64_t integer, in.read_i64("integer"));
  return VmConstant(integer);
}

Result<VmConstant> read_number_constant(ByteReader& in) {
  GANTRY_TRY(const std::uint64_t bits, in.read_u64("number"));
  return VmConstant(std::bit_cast<double>(bits));
}

Result<VmConstant> read_late_bound_constant(ByteReader& in) {
  GANTRY_TRY(const std::string_view name, in.read_string("late_bound"));
  return VmConstant(name);
}

constexpr VmConstantKind relax_packed[] = {{0, read_array_constant},   {1, read_dtype_constant},
                                           {2, read_shape_constant},   {3, read_text_constant},
                                           {4, read_integer_constant}, {5, read_number_constant}};
constexpr VmConstantKind relax_ffi_0_21[] = {{72, read_array_constant},  {5, read_dtype_constant},
                                             {71, read_shape_constant},  {65, read_text_constant},
                                             {1, read_integer_constant}, {3, read_number_constant}};
constexpr VmConstantKind relax_ffi[] = {{70, read_array_constant},  {5, read_dtype_constant},
                                        {69, read_shape_constant},  {65, read_text_constant},
                                        {1, read_integer_constant}, {3, read_number_constant}};
static_assert(std::size(relax_ffi) == std::variant_size_v<VmConstant>);
constexpr VmConstantKind relay_kinds[] = {{0, read_array_constant}, {1, read_late_bound_constant}};

// The data of a filler have at most the largest alignment.
bool may_be_filler(const ArrayRecord& array) {
  const gantry_dtype bytes{static_cast<std::uint8_t>(TypeCode::uint), 8, 1};
  return same_dtype(array.dtype, bytes) && array.shape.size() == 1 && !array.data.empty() &&
         array.data.size() <= max_record_data_alignment &&
         std::ranges::all_of(array.data, [](std::uint8_t byte) { return byte == 0; });
}

Result<VmConstant> read_constant(ByteReader& in, const VmConstantForm& form) {
  if (form.kinds.empty()) return read_array_constant(in);
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::int32_t tag, in.read_i32("tag"));
  for (const VmConstantKind& kind : form.kinds) {
    if (tag == kind.tag) return kind.read(in);
  }
  return refuse_code(at, "tag is ", tag, form.expected);
}

}  // namespace

const VmConstantForm& relax_constant_form(Numbering numbering) {
  constexpr std::string_view expected = ", expected that of an array, dtype, shape, text or number";
  static constexpr VmConstantForm packed{relax_packed, expected, max_relax_constants};
  static constexpr VmConstantForm ffi_0_21{relax_ffi_0_21, expected, max_relax_constants};
  static constexpr VmConstantForm ffi{relax_ffi, expected, max_relax_constants};
  if (numbering == Numbering::packed) return packed;
  return numbering == Numbering::ffi_0_21 ? ffi_0_21 : ffi;
}

const VmConstantForm& relay_constant_form(bool has_tags) {
  static constexpr VmConstantForm tagged{relay_kinds, ", which no kind of constant has"};
  static constexpr VmConstantForm untagged{};
  return has_tags ? tagged : untagged;
}

Status read_vm_constants(ByteReader& in, const VmConstantForm& form, VmConstants& constants) {
  constants.tag_bytes = form.kinds.empty() ? 0 : sizeof(std::int32_t);
  // The shortest content is a dtype, or an array without dimensions.
  const std::uint64_t min_bytes = form.kinds.empty() ? record_header_bytes(0) : 4 + 4;
  GANTRY_TRY(const std::uint64_t count,
             read_limited_count(in, min_bytes, form.max_count, "constants"));
  constants.at.reserve(count + 1);
  constants.values.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    constants.at.push_back(in.offset());
    auto constant = read_constant(in, form);
    if (!constant.ok()) return std::move(constant).error().at("in constant ", i);
    constants.values.push_back(std::move(*constant));
  }
  constants.at.push_back(in.offset());
  return {};
}

Result<std::uint64_t> read_limited_count(ByteReader& in, std::uint64_t min_bytes, std::uint64_t max,
                                         const char* items) {
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::uint64_t count, in.read_count(min_bytes, items));
  if (count > max) return refuse_code(at, items, ": count is ", count, ", maximum is ", max);
  return count;
}

Status check_array_bytes(const ArrayRecord& array) {
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(array.shape, array.dtype));
  if (array.data.size() == bytes) return {};
  return malformed(array.data_at, "array is ", type_text(array.dtype, array.shape), " in ",
                   array.data.size(), " bytes, expected ", bytes)
      .with_reason("ARRAY_RECORD");
}

std::vector<bool> find_fillers(const VmConstants& constants, const std::vector<bool>& is_used) {
  std::vector<bool> fillers(constants.size());
  for (std::size_t i = 0; i + 1 < constants.size(); ++i) {
    const ArrayRecord* const array = constants.array(i);
    fillers[i] = array != nullptr && !is_used[i] && constants.array(i + 1) != nullptr &&
                 may_be_filler(*array);
  }
  return fillers;
}

}  // namespace gantry
