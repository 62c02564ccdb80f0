// SPDX-License-Identifier: Apache-2.0
#include "core/writing/payload_form.hpp"

#include "core/formats/dtype_codes.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cassert>

namespace gantry {
namespace {

constexpr PayloadForm forms[] = {
    {.generation = Generation::g1,
     .releases = "v0.2 to v0.6",
     .flag_prefix = "tir.",
     .has_code_length = true,
     .has_private_float_codes = true},
    {.generation = Generation::g2,
     .releases = "v0.7",
     .flag_prefix = "tir.",
     .has_code_length = true,
     .has_private_float_codes = true},
    {.generation = Generation::g3,
     .releases = "v0.8 to v0.20",
     .flag_prefix = "tir.",
     .has_code_length = true,
     .has_private_float_codes = true},
    {.generation = Generation::g4,
     .releases = "v0.21",
     .dialect = Dialect::ffi_0_21,
     .argument_tags = ArgumentTags::yes,
     .flag_prefix = "tir.",
     .numbering = Numbering::ffi_0_21,
     .has_code_length = true},
    {.generation = Generation::g5,
     .releases = "v0.22 and later",
     .dialect = Dialect::ffi,
     .argument_tags = ArgumentTags::yes,
     .has_kernel_names = true,
     .flag_prefix = "tirx.",
     .has_sized_shaders = true,
     .numbering = Numbering::ffi},
};

}  // namespace

const PayloadForm& payload_form(Generation generation) {
  const auto* const form = std::ranges::find(forms, generation, &PayloadForm::generation);
  assert(form != std::end(forms) && "a generation that no form is written in");
  return *form;
}

bool have_same_payloads(Generation a, Generation b) {
  const PayloadForm& x = payload_form(a);
  const PayloadForm& y = payload_form(b);
  return a == b || (x.argument_tags == y.argument_tags && x.numbering == y.numbering &&
                    x.has_kernel_names == y.has_kernel_names);
}

Result<std::string> converted_type_key(std::string_view type_key, Generation to) {
  const PayloadForm& form = payload_form(to);
  const std::string_view converted = type_key_in(form.generation, type_key);
  if (!converted.empty()) return std::string(converted);
  const TypeKey& key = *find_type_key(type_key);
  return unsupported("modules of type key ", quoted(type_key), " do not exist in ",
                     name_of(form.generation), " (", form.releases, "), only in ",
                     name_of(key.first),
                     key.first == key.last ? std::string() : concat(" to ", name_of(key.last)));
}

Result<gantry_dtype> converted_dtype(gantry_dtype dtype, bool is_private, const PayloadForm& to) {
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
  return unsupported("element type ", dtype_text(dtype), " has no number in ",
                     name_of(to.generation), " (", to.releases, ")");
}

Status write_converted_dtype(ByteReader in, bool is_private, const PayloadForm& to,
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
