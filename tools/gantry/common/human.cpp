// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/human.hpp"

#include <gantry/result.hpp>

#include <cstdio>

namespace gantry::cli {

std::string human_size(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return concat(bytes, " B");
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  // from 1023.95 on, the text would be 1024.0
  while (size >= 1023.95) {
    size /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", size, units[unit]);
  return text;
}

std::string human_time(double nanoseconds) {
  constexpr const char* units[] = {"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  while (nanoseconds >= 999.5 && unit + 1 < std::size(units)) {
    nanoseconds /= 1000;
    ++unit;
  }
  const int decimals = unit == 0 || nanoseconds >= 99.95 ? 0 : nanoseconds >= 9.995 ? 1 : 2;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", decimals, nanoseconds, units[unit]);
  return text;
}

}  // namespace gantry::cli
