// SPDX-License-Identifier: Apache-2.0
#include "core/pack/payload_form.hpp"

#include "core/format/dtype_codes.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

using Form = ContainerForm;
using FactsNumbering = ExporterFacts::Numbering;

constexpr PayloadForm forms[] = {
    {Form::g1, "G1", "v0.2 to v0.6", false, false, "tir.", false, FactsNumbering::packed, true,
     true},
    {Form::g2, "G2", "v0.7", false, false, "tir.", false, FactsNumbering::packed, true, true},
    {Form::g3, "G3", "v0.8 to v0.20", false, false, "tir.", false, FactsNumbering::packed, true,
     true},
    {Form::g4, "G4", "v0.21", true, false, "tir.", false, FactsNumbering::ffi_0_21, true, false},
    {Form::g5, "G5", "v0.22 and later", true, true, "tirx.", true, FactsNumbering::ffi, false,
     false},
};

// A type key that only some generations have, and its names before and after them.
struct KeyRow {
  std::string_view key;
  Form first, last;
  // empty: such modules do not exist then
  std::string_view before, after;
};

// source   registrations of loaders in apache/tvm, v0.2 to v0.26
constexpr KeyRow key_rows[] = {
    {"GraphRuntimeFactory", Form::g2, Form::g3, "", ""},
    {"GraphExecutorFactory", Form::g3, Form::g3, "GraphRuntimeFactory", ""},
    {"AotExecutorFactory", Form::g3, Form::g3, "", ""},
    {"metadata_module", Form::g3, Form::g3, "", ""},
    {"metadata", Form::g2, Form::g3, "", "const_loader"},
    {"const_loader", Form::g3, Form::g5, "metadata", ""},
    {"VMExecutable", Form::g3, Form::g3, "", ""},
    {"relax.Executable", Form::g3, Form::g3, "", "relax.VMExecutable"},
    {"relax.VMExecutable", Form::g3, Form::g5, "", ""},
};

}  // namespace

const PayloadForm& payload_form(ContainerForm form) {
  return forms[static_cast<std::size_t>(form)];
}

bool have_same_payloads(ContainerForm a, ContainerForm b) {
  const PayloadForm& x = payload_form(a);
  const PayloadForm& y = payload_form(b);
  return a == b || (x.has_argument_tags == y.has_argument_tags && x.numbering == y.numbering &&
                    x.has_kernel_names == y.has_kernel_names);
}

Result<std::string> moved_type_key(std::string_view type_key, ContainerForm to) {
  const auto row = std::ranges::find(key_rows, type_key, &KeyRow::key);
  if (row == std::end(key_rows) || (to >= row->first && to <= row->last)) {
    return std::string(type_key);
  }
  const std::string_view other = to < row->first ? row->before : row->after;
  const auto moved = std::ranges::find(key_rows, other, &KeyRow::key);
  if (moved != std::end(key_rows) && to >= moved->first && to <= moved->last) {
    return std::string(other);
  }
  const PayloadForm& form = payload_form(to);
  const PayloadForm& last = payload_form(row->last);
  return unsupported("modules of type key ", quoted(type_key), " do not exist in ", form.name, " (",
                     form.releases, "), only in ", payload_form(row->first).name,
                     row->first == row->last ? std::string() : concat(" to ", last.name));
}

Result<gantry_dtype> moved_dtype(gantry_dtype dtype, bool is_private, const PayloadForm& to) {
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

Status write_moved_dtype(ByteReader in, bool is_private, const PayloadForm& to, dmlc::Stream& out) {
  gantry_dtype dtype{};
  GANTRY_TRY(dtype.code, in.read_u8("dtype"));
  GANTRY_TRY(dtype.bits, in.read_u8("dtype"));
  GANTRY_TRY(dtype.lanes, in.read_u16("dtype"));
  GANTRY_TRY(const gantry_dtype moved, moved_dtype(dtype, is_private, to));
  out.Write(moved.code);
  out.Write(moved.bits);
  out.Write(moved.lanes);
  return {};
}

}  // namespace gantry
