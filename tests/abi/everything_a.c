// SPDX-License-Identifier: Apache-2.0
//
// One of three files that include the complete ABI and are linked into one program, which shows
// that no header defines a symbol twice. The inline functions are tested from C and from C++.
#include <gantry/gantry.h>

gantry_code fail_from_c(gantry_status* status);
gantry_code fail_from_c(gantry_status* status) {
  return gantry_fail(status, GANTRY_MALFORMED, "FROM_C", "text");
}
