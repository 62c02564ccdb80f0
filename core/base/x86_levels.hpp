// SPDX-License-Identifier: Apache-2.0
//
// Levels of x86-64 as bits: bit 0 is x86-64-v1, bit 1 x86-64-v2 and so on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gantry {

// Returns the levels of this host's CPU; 0 on another machine.
//
// costs    executes cpuid
inline std::uint32_t host_x86_levels() {
#if defined(__x86_64__)
  std::uint32_t levels = 1;
  if (__builtin_cpu_supports("x86-64-v2")) levels |= 2;
  if (__builtin_cpu_supports("x86-64-v3")) levels |= 4;
  if (__builtin_cpu_supports("x86-64-v4")) levels |= 8;
  return levels;
#else
  return 0;
#endif
}

// Returns the names of levels, lowest first.
inline std::vector<std::string> x86_level_names(std::uint32_t levels) {
  std::vector<std::string> names;
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    if ((levels >> bit & 1) != 0) names.push_back("x86-64-v" + std::to_string(bit + 1));
  }
  return names;
}

}  // namespace gantry
