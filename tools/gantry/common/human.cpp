// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/human.hpp"

#include <cstdio>

namespace gantry::cli {

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
