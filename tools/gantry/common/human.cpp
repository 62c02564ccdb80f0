// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/human.hpp"

#include <algorithm>
#include <cstdio>
#include <span>

namespace gantry::cli {
namespace {

// Each unit is a thousand of the one before.
std::string scaled(double number, std::span<const char* const> units, int most_decimals) {
  std::size_t unit = 0;
  while (number >= 999.5 && unit + 1 < units.size()) {
    number /= 1000;
    ++unit;
  }
  const int decimals = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  char text[48];
  std::snprintf(text, sizeof text, "%.*f%s",
                unit == 0 ? std::min(decimals, most_decimals) : decimals, number, units[unit]);
  return text;
}

}  // namespace

std::string human_number(double number) {
  constexpr const char* units[] = {"", " k", " M", " G", " T"};
  return scaled(number, units, 2);
}

std::string human_time(double nanoseconds) {
  constexpr const char* units[] = {" ns", " us", " ms", " s"};
  return scaled(nanoseconds, units, 0);
}

}  // namespace gantry::cli
