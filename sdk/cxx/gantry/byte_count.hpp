// SPDX-License-Identifier: Apache-2.0
//
// gantry/byte_count.hpp - sizes of memory and files in messages: 512 bytes, or 512.0 MiB (536870912
// bytes). Offsets are printed with Hex instead.
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>

namespace gantry {

namespace detail {

struct ScaledSize {
  double number;
  const char* unit;
};

inline ScaledSize scaled_size(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  // From 1023.95 on, the text would be 1024.0.
  while (size >= 1023.95 && unit + 1 < std::size(units)) {
    size /= 1024;
    ++unit;
  }
  return {size, units[unit]};
}

}  // namespace detail

// Returns "0 B", "1023 B", "1.0 KiB", "12.3 MiB".
inline std::string human_size(std::uint64_t bytes) {
  const auto [number, unit] = detail::scaled_size(bytes);
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", bytes < 1024 ? 0 : 1, number, unit);
  return text;
}

// A part of concat(). From 10 KiB on, a rounded size precedes the exact one. Does not allocate.
class ByteCount {
 public:
  explicit ByteCount(std::uint64_t bytes) {
    constexpr std::uint64_t rounded_from = 10 * 1024;
    if (bytes < rounded_from) {
      std::snprintf(text_, sizeof text_, "%" PRIu64 " bytes", bytes);
    } else {
      const auto [number, unit] = detail::scaled_size(bytes);
      std::snprintf(text_, sizeof text_, "%.1f %s (%" PRIu64 " bytes)", number, unit, bytes);
    }
  }
  operator std::string_view() const { return text_; }  // NOLINT: implicit by design
  const char* c_str() const { return text_; }

 private:
  char text_[48];
};

}  // namespace gantry
