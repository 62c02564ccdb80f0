// SPDX-License-Identifier: Apache-2.0
//
// malformed() is about bytes: the offset comes first.
// error: error: (no matching function for call to .*malformed|invalid conversion|cannot convert)
#include <gantry/result.hpp>

gantry::Error bad_tree() {
#ifdef BREAK
  return gantry::malformed("import tree has a loop");
#else
  return gantry::malformed(0x40, "import tree has a loop");
#endif
}
