// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace gantry::python {

// Adds the class Runtime, which gantry.Runtime uses, to the module.
void bind_runtime(nanobind::module_& module);

}  // namespace gantry::python
