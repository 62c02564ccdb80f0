// SPDX-License-Identifier: Apache-2.0
#include "dtypes.hpp"

#include <gantry/dtype_text.hpp>

#include <string_view>

namespace gantry::python {
namespace {

struct Format {
  std::string_view text;
  TypeCode code;
  // 0: that of the element
  std::uint8_t bits;
};
// The widths of l and L depend on the byte order mark, so integers take that of the element.
constexpr Format formats[] = {
    {"?", TypeCode::bool_, 8},   {"e", TypeCode::float_, 16},   {"f", TypeCode::float_, 32},
    {"d", TypeCode::float_, 64}, {"Zf", TypeCode::complex, 64}, {"Zd", TypeCode::complex, 128},
    {"b", TypeCode::int_, 0},    {"h", TypeCode::int_, 0},      {"i", TypeCode::int_, 0},
    {"l", TypeCode::int_, 0},    {"q", TypeCode::int_, 0},      {"n", TypeCode::int_, 0},
    {"B", TypeCode::uint, 0},    {"H", TypeCode::uint, 0},      {"I", TypeCode::uint, 0},
    {"L", TypeCode::uint, 0},    {"Q", TypeCode::uint, 0},      {"N", TypeCode::uint, 0},
};

}  // namespace

std::optional<gantry_dtype> dtype_of_format(const char* format, std::int64_t item_bytes) {
  std::string_view text = format != nullptr ? format : "B";
  const bool is_native = text.starts_with('@') || text.starts_with('=') || text.starts_with('<');
  if (is_native) text.remove_prefix(1);
  if (item_bytes < 1 || item_bytes > 16) return {};
  const auto bits = static_cast<std::uint8_t>(item_bytes * 8);
  for (const Format& known : formats) {
    if (known.text != text) continue;
    if (known.bits != 0 && known.bits != bits) return {};
    return dtypes::of(known.code, bits);
  }
  return {};
}

const char* format_of_dtype(gantry_dtype dtype) {
  struct Named {
    gantry_dtype dtype;
    const char* format;
  };
  static constexpr Named all[] = {
      {dtypes::float32, "f"},
      {dtypes::float64, "d"},
      {dtypes::float16, "e"},
      {dtypes::int64, "q"},
      {dtypes::int32, "i"},
      {dtypes::int16, "h"},
      {dtypes::int8, "b"},
      {dtypes::uint64, "Q"},
      {dtypes::uint32, "I"},
      {dtypes::uint16, "H"},
      {dtypes::uint8, "B"},
      {dtypes::of(TypeCode::bool_, 8), "?"},
      // stored in one byte
      {dtypes::of(TypeCode::uint, 1), "?"},
      {dtypes::of(TypeCode::complex, 64), "Zf"},
      {dtypes::of(TypeCode::complex, 128), "Zd"},
  };
  for (const Named& named : all) {
    if (same_dtype(named.dtype, dtype)) return named.format;
  }
  return nullptr;
}

}  // namespace gantry::python
