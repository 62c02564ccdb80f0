// SPDX-License-Identifier: Apache-2.0
//
// gantry/kind_text.hpp - names of value kinds for messages: "a tensor", "an integer".
#pragma once

#include <gantry/value.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

// kind     [in]   kind of a gantry_value; all forms of strings, bytes and tensors have one name
//                 each
// returns  the name with its article; "of kind 99" for an unknown kind
inline std::string kind_text(std::int32_t kind) {
  constexpr std::pair<std::int32_t, std::string_view> names[] = {
      {GANTRY_NONE, "none"},           {GANTRY_INT, "an integer"},
      {GANTRY_BOOL, "a boolean"},      {GANTRY_FLOAT, "a float"},
      {GANTRY_POINTER, "a pointer"},   {GANTRY_DTYPE, "a dtype"},
      {GANTRY_DEVICE, "a device"},     {GANTRY_TENSOR_REF, "a tensor"},
      {GANTRY_TENSOR, "a tensor"},     {GANTRY_CSTRING, "a string"},
      {GANTRY_STRING, "a string"},     {GANTRY_SMALL_STRING, "a string"},
      {GANTRY_BYTES_REF, "bytes"},     {GANTRY_SMALL_BYTES, "bytes"},
      {GANTRY_BYTES, "bytes"},         {GANTRY_OBJECT, "an object"},
      {GANTRY_FUNCTION, "a function"}, {GANTRY_SHAPE, "a shape"},
      {GANTRY_ARRAY, "an array"},      {GANTRY_MAP, "a map"},
      {GANTRY_MODULE, "a module"},
  };
  for (const auto& [known, name] : names) {
    if (known == kind) return std::string(name);
  }
  return concat("of kind ", kind);
}

}  // namespace gantry
