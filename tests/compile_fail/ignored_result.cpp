// SPDX-License-Identifier: Apache-2.0
//
// A Result must be looked at.
// error: error: ignoring returned value of type .*Result<int>.*\[-Werror=unused-result\]
#include <gantry/result.hpp>

gantry::Result<int> parse();

bool use() {
#ifdef BREAK
  parse();
#endif
  return parse().ok();
}
