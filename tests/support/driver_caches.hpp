// SPDX-License-Identifier: Apache-2.0
//
// Where PoCL and Mesa keep the kernels that they have compiled.
#pragma once

#include "tests/support/files.hpp"

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace gantry::test {

inline constexpr std::array driver_cache_variables{"POCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR"};

// Sets the variables that tools/dev/test has not set, which shares one directory among presets, to
// a directory in the build tree. To be called before a driver starts.
inline void use_driver_caches() {
  for (const char* const name : driver_cache_variables)
    setenv(name, (build_tree() / "driver_cache").c_str(), 0);
}

// The same as "NAME=value", for the environment of a child process.
inline std::vector<std::string> driver_caches() {
  use_driver_caches();
  std::vector<std::string> variables;
  for (const char* const name : driver_cache_variables)
    variables.push_back(std::string(name) + '=' + std::getenv(name));
  return variables;
}

}  // namespace gantry::test
