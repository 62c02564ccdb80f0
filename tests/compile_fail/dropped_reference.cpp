// SPDX-License-Identifier: Apache-2.0
//
// take() hands a reference to the caller: dropped, it is a leak.
// error: error: ignoring return value of .*take\(\).*\[-Werror=unused-result\]
#include <gantry/handle.hpp>

gantry_value give(gantry::Value& value) {
#ifdef BREAK
  value.take();
#endif
  return value.take();
}
