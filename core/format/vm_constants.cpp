// SPDX-License-Identifier: Apache-2.0
#include "core/format/vm_constants.hpp"

#include "core/format/payload_layout.hpp"
#include "core/format/payload_walk.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace gantry {
namespace {

using Numbering = ExporterFacts::Numbering;

constexpr VmConstantKind relax_packed[] = {
    {0, "a:ndarray"}, {2, "shape:vec<i64>"}, {3, vm_text_words},
    {4, "int:i64"},   {5, "float:u64"},      {1, "type:dtype"},
};
constexpr VmConstantKind relax_ffi_0_21[] = {
    {72, "a:ndarray"}, {71, "shape:vec<i64>"}, {65, vm_text_words},
    {1, "int:i64"},    {3, "float:u64"},       {5, "type:dtype"},
};
constexpr VmConstantKind relax_ffi[] = {
    {70, "a:ndarray"}, {69, "shape:vec<i64>"}, {65, vm_text_words},
    {1, "int:i64"},    {3, "float:u64"},       {5, "type:dtype"},
};
constexpr VmConstantKind relay_kinds[] = {{0, "array:ndarray"}, {1, "late_bound:str"}};

PayloadLayout layout_of(const VmConstantKind& kind) {
  const std::string words(kind.words);
  Result<PayloadLayout> layout = parse_payload_layout({&words, 1});
  assert(layout.ok() && "a kind in this file does not parse");
  return std::move(layout).value();
}

// The data of a filler have at most the largest alignment.
bool may_be_filler(std::span<const std::uint8_t> record) {
  ByteReader in(record);
  const auto array = read_array_record(in, "array");
  if (!array.ok()) return false;
  const gantry_dtype bytes{static_cast<std::uint8_t>(TypeCode::uint), 8, 1};
  return array->dtype.code == bytes.code && array->dtype.bits == bytes.bits &&
         array->dtype.lanes == bytes.lanes && array->shape.size() == 1 && !array->data.empty() &&
         array->data.size() <= max_record_data_alignment &&
         std::ranges::all_of(array->data, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

std::span<const VmConstantKind> relax_constant_kinds(Numbering numbering) {
  if (numbering == Numbering::packed) return relax_packed;
  return numbering == Numbering::ffi_0_21 ? std::span(relax_ffi_0_21) : std::span(relax_ffi);
}

std::span<const VmConstantKind> relay_constant_kinds() { return relay_kinds; }

Result<VmConstants> read_vm_constants(ByteReader& in, std::span<const VmConstantKind> kinds) {
  VmConstants constants;
  constants.tag_bytes = kinds.empty() ? 0 : sizeof(std::uint32_t);
  // Parsed once: parsing a layout costs more than walking a constant.
  std::vector<PayloadLayout> layouts;
  for (const VmConstantKind& kind : kinds) layouts.push_back(layout_of(kind));
  // The shortest content is a dtype, or an array without dimensions.
  const std::uint64_t min_bytes = kinds.empty() ? record_header_bytes(0) : 4 + 4;
  GANTRY_TRY(const std::uint64_t count, in.read_count(min_bytes, "constants"));
  constants.at.reserve(count + 1);
  const auto read_one = [&]() -> Status {
    std::size_t kind = 0;
    if (!kinds.empty()) {
      const std::uint64_t at = in.offset();
      GANTRY_TRY(const std::uint32_t tag, in.read_u32("tag"));
      while (kind < kinds.size() && kinds[kind].tag != tag) ++kind;
      if (kind == kinds.size())
        return refuse_code(at, "tag is ", tag, ", which no kind of constant has");
    }
    constants.is_array.push_back(kind == 0);
    if (kind != 0) return walk_payload(in, layouts[kind], false);
    GANTRY_CHECK(read_array_record(in, "array"));
    return {};
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    constants.at.push_back(in.offset());
    if (Status read = read_one(); !read.ok()) return std::move(read).error().at("in constant ", i);
  }
  constants.at.push_back(in.offset());
  constants.is_used.resize(count);
  return constants;
}

Status check_array_bytes(const ArrayRecord& array) {
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(array.shape, array.dtype));
  if (array.data.size() == bytes) return {};
  return malformed(array.data_at, "array is ", type_text(array.dtype, array.shape), " in ",
                   array.data.size(), " bytes, expected ", bytes)
      .with_reason("ARRAY_RECORD");
}

std::vector<bool> find_fillers(const VmConstants& constants, const BytesAt& code) {
  std::vector<bool> fillers(constants.size());
  for (std::size_t i = 0; i + 1 < constants.size(); ++i) {
    fillers[i] = constants.is_array[i] && !constants.is_used[i] && constants.is_array[i + 1] &&
                 may_be_filler(constants.bytes_of(i, code).subspan(constants.tag_bytes));
  }
  return fillers;
}

}  // namespace gantry
