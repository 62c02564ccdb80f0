// SPDX-License-Identifier: Apache-2.0
//
// The status points into its own buffer.
// error: error: use of deleted function .*StatusBuffer
#include <gantry/abi_boundary.hpp>

gantry::Error told(gantry_code code, gantry::StatusBuffer& status) {
#ifdef BREAK
  const gantry::StatusBuffer copy = status;
  return copy.error(code, "load");
#else
  return status.error(code, "load");
#endif
}
