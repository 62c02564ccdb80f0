// SPDX-License-Identifier: Apache-2.0
#include "api.hpp"

namespace gantry::python {

void release(gantry_object* object) noexcept {
  if (object == nullptr) return;
  const nanobind::gil_scoped_release released;
  gantry_release(object);
}

}  // namespace gantry::python
