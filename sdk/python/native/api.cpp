// SPDX-License-Identifier: Apache-2.0
#include "api.hpp"

#include "gil.hpp"

namespace gantry::python {

void release(gantry_object* object) noexcept {
  if (object == nullptr) return;
  const GilReleased released;
  gantry_release(object);
}

}  // namespace gantry::python
