// SPDX-License-Identifier: Apache-2.0
//
// One of three files that include the whole ABI and are linked into one program: nothing in a header is defined
// twice, and the inline functions do the same from C and from C++.
#include <gantry/gantry.h>

gantry_code fail_from_c(gantry_status* status);
gantry_code fail_from_c(gantry_status* status) {
  return gantry_fail(status, GANTRY_MALFORMED, "FROM_C", "text");
}
