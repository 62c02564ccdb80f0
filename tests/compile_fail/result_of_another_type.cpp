// SPDX-License-Identifier: Apache-2.0
//
// A Result does not turn into one of another type: its error is passed on by GANTRY_TRY.
// error: error: could not convert .*Result<int>.* to .*Result<std::vector<int>
#include <gantry/result.hpp>

#include <vector>

gantry::Result<int> count();

gantry::Result<std::vector<int>> list() {
#ifdef BREAK
  return count();
#else
  GANTRY_TRY(const int n, count());
  return std::vector<int>(static_cast<std::size_t>(n));
#endif
}
