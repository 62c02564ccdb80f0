// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/value.h>

namespace gantry {

// Returns whether the kind of the value has an address, and it is 0.
inline bool is_null(const gantry_value& value) {
  const bool has_address = value.kind >= GANTRY_OBJECT || value.kind == GANTRY_TENSOR_REF ||
                           value.kind == GANTRY_BYTES_REF || value.kind == GANTRY_CSTRING;
  return has_address && value.p == nullptr;
}

}  // namespace gantry
