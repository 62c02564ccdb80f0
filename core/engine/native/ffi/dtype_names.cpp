// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/ffi/dtype_names.hpp"

#include <gantry/concat.hpp>
#include <gantry/dtype_text.hpp>

#include <charconv>
#include <cstdint>
#include <optional>

namespace gantry::ffi {
namespace {

struct Name {
  std::string_view text;
  TypeCode code;
  std::uint8_t default_bits;
  // The width cannot be omitted.
  bool is_short;
};
// A name comes before the names that are a prefix of it.
constexpr Name wide_names[] = {
    {"bool", TypeCode::bool_, 8, false},     {"handle", TypeCode::handle, 64, false},
    {"bfloat", TypeCode::bfloat, 16, false}, {"float", TypeCode::float_, 32, false},
    {"uint", TypeCode::uint, 32, false},     {"int", TypeCode::int_, 32, false},
    {"bf", TypeCode::bfloat, 0, true},       {"f", TypeCode::float_, 0, true},
    {"u", TypeCode::uint, 0, true},          {"i", TypeCode::int_, 0, true},
};

bool take(std::string_view& text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

// Takes a number with any number of leading zeros off the front of a text.
//
// returns  nothing if there is none up to `max`
std::optional<std::uint32_t> take_any_number(std::string_view& text, std::uint32_t max) {
  std::uint32_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc() || number > max) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Takes a type and its width off the front of a text.
std::optional<gantry_dtype> take_type(std::string_view& text) {
  for (const detail::TypeName& each : detail::type_names) {
    const bool is_narrow_float =
        each.code >= TypeCode::float8_e3m4 && each.text.starts_with("float");
    if (!is_narrow_float) continue;
    // "fp8_e5m2" and "f8_e5m2" are float8_e5m2.
    const std::string_view rest = each.text.substr(sizeof "float" - 1);
    std::string_view after = text;
    bool found = false;
    for (const std::string_view beginning : {"float", "fp", "f"}) {
      after = text;
      found = take(after, beginning) && take(after, rest);
      if (found) break;
    }
    if (!found) continue;
    text = after;
    if (each.code == TypeCode::float4_e2m1fn && text.starts_with("_x")) text.remove_prefix(1);
    return gantry_dtype{static_cast<std::uint8_t>(each.code), each.bits, 1};
  }
  for (const Name& each : wide_names) {
    std::string_view after = text;
    if (!take(after, each.text)) continue;
    const bool has_width = !after.empty() && after.front() >= '0' && after.front() <= '9';
    const std::optional<std::uint32_t> width =
        has_width ? take_any_number(after, UINT8_MAX) : std::optional<std::uint32_t>(0);
    if (!width) continue;
    const std::uint32_t bits = *width != 0 ? *width : each.default_bits;
    if (bits == 0) continue;
    text = after;
    return gantry_dtype{static_cast<std::uint8_t>(each.code), static_cast<std::uint8_t>(bits), 1};
  }
  return std::nullopt;
}

std::string_view name_of(TypeCode code) {
  for (const Name& each : wide_names) {
    if (each.code == code) return each.text;
  }
  for (const detail::TypeName& each : detail::type_names) {
    if (each.code == code && code >= TypeCode::float8_e3m4) return each.text;
  }
  return {};
}

}  // namespace

Result<gantry_dtype> dtype_of_name(std::string_view name) {
  std::string_view text = name;
  if (text.empty() || text == "void")
    return gantry_dtype{static_cast<std::uint8_t>(TypeCode::handle), 0, 0};
  auto dtype = take_type(text);
  if (!dtype) return invalid("unknown dtype `", name, "`");
  if (text.empty()) return *dtype;
  if (!take(text, "x")) return invalid("unknown dtype `", name, "`");
  // The lanes of a scalable vector are negative.
  const bool is_scalable = take(text, "vscalex");
  const std::uint32_t lanes =
      take_any_number(text, is_scalable ? INT16_MAX : UINT16_MAX).value_or(0);
  if (lanes == 0 || !text.empty()) {
    return invalid("Invalid lanes specification in dtype '", name,
                   "'. Lanes must be a positive integer.");
  }
  dtype->lanes = static_cast<std::uint16_t>(is_scalable ? UINT16_MAX + 1 - lanes : lanes);
  return *dtype;
}

Result<std::string> name_of_dtype(gantry_dtype dtype) {
  const auto code = static_cast<TypeCode>(dtype.code);
  const std::string_view name = name_of(code);
  if (name.empty())
    return invalid("DLDataType contains unknown type_code=", std::uint32_t{dtype.code});
  if (code == TypeCode::handle)
    return std::string(dtype.bits == 0 && dtype.lanes == 0 ? std::string_view() : name);
  std::string text(name);
  const bool states_width =
      code < TypeCode::float8_e3m4 && !(code == TypeCode::bool_ && dtype.bits == 8);
  if (states_width) text += concat(std::uint32_t{dtype.bits});
  const auto lanes = static_cast<std::int16_t>(dtype.lanes);
  if (lanes > 1) text += concat("x", std::int32_t{lanes});
  if (lanes < -1) text += concat("xvscalex", -std::int32_t{lanes});
  return text;
}

}  // namespace gantry::ffi
