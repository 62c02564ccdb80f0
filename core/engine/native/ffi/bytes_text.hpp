// SPDX-License-Identifier: Apache-2.0
//
// Texts of libraries, whose address may be NULL.
#pragma once

#include <gantry/bytes.h>

#include <string_view>

namespace gantry::ffi {

// lifetime of the bytes
inline std::string_view text_in(const gantry_bytes& bytes) {
  return bytes.data == nullptr ? std::string_view() : std::string_view(bytes.data, bytes.size);
}
inline std::string_view text_in(const gantry_bytes* bytes) {
  return bytes == nullptr ? std::string_view() : text_in(*bytes);
}

}  // namespace gantry::ffi
